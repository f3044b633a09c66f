//! Fields read from a text, changed, and what is wrong then.

use shardscope_engine::scenario::file;
use shardscope_engine::units::BytesPerSecond;
use shardscope_presets::library as embedded;

use super::*;

/// The scenario of the embedded presets with a cluster and a model.
fn scenario(library: &Library, cluster: &str, model: &str) -> Scenario {
    let mut file = file::parse(&library.scenario_text("default").unwrap().text).unwrap();
    file.set("hardware", cluster).unwrap();
    file.set("model", model).unwrap();
    library.resolve(&file).unwrap()
}

fn draft(kind: Kind) -> Draft {
    let library = embedded();
    Draft::copy_of(&library, kind, &scenario(&library, "mi250x-frontier", "mixtral-8x7b")).unwrap()
}

fn slot(draft: &Draft, path: &str) -> DraftField {
    draft.slots().into_iter().find(|slot| slot.path == path).unwrap_or_else(|| panic!("no field {path}"))
}

fn set(draft: &mut Draft, path: &str, text: &str) -> Result<(), String> {
    let slot = slot(draft, path);
    draft.set(&slot, text)
}

#[test]
fn fields_are_values_with_units() {
    let cluster = draft(Kind::Cluster);
    let shown = |path: &str| {
        let DraftField { value, unit, .. } = slot(&cluster, path);
        (value, unit)
    };
    let pair = |value: &str, unit: &str| (value.to_owned(), unit.to_owned());
    assert_eq!(shown("device.memory"), pair("64", "GiB"));
    assert_eq!(shown("levels[2].injection"), pair("100", "GB/s"));
    assert_eq!(shown("levels[0].members"), pair("2", ""));
    assert_eq!(shown("price_per_device_hour"), pair("", "EUR"));
    let model = draft(Kind::Model);
    assert_eq!(slot(&model, "gated").value, "on");
    assert_eq!(slot(&model, "experts.active").value, "2");
    assert_eq!(slot(&model, "positions").value, "computed");
}

#[test]
fn the_links_of_a_level_are_fields_that_say_what_they_join() {
    let mut cluster = draft(Kind::Cluster);
    // Frontier's node diagram: two links of 50 GB/s between 0 and 6, the fifth of the file's list of twelve.
    let fifth = slot(&cluster, "levels[1].links[4].bandwidth");
    assert_eq!((fifth.value.as_str(), fifth.unit.as_str()), ("100", "GB/s"));
    assert_eq!(fifth.note, "between 0 and 6");
    assert_eq!(cluster.slots().iter().filter(|slot| slot.path.contains("links")).count(), 12);
    set(&mut cluster, "levels[1].links[4].bandwidth", "75").unwrap();
    let saved = read::cluster("copy", &cluster.saving().text).unwrap();
    assert_eq!(saved.levels[1].links[4].bandwidth, BytesPerSecond::new(75e9));
    assert_eq!(saved.levels[1].links[3].bandwidth, BytesPerSecond::new(200e9), "its neighbour stays");
    set(&mut cluster, "levels[1].links[4].bandwidth", "0").unwrap();
    assert!(cluster.problems().iter().any(|problem| problem.field.contains("links[4]")), "{:?}", cluster.problems());
}

#[test]
fn every_embedded_cluster_and_model_can_be_edited_and_stays_what_it_is() {
    let library = embedded();
    for kind in [Kind::Cluster, Kind::Model] {
        for entry in library.entries(kind) {
            let (cluster, model) = if kind == Kind::Cluster {
                (entry.id.as_str(), "mpt-7b")
            } else {
                ("h100-80gb-dgx", entry.id.as_str())
            };
            let mut draft = Draft::copy_of(&library, kind, &scenario(&library, cluster, model)).unwrap();
            // Writing what a field shows changes no fact.
            for slot in draft.slots().iter().filter(|slot| !slot.value.is_empty()) {
                draft.set(slot, &slot.value).unwrap_or_else(|why| panic!("{}: {}: {why}", entry.id, slot.path));
            }
            assert_eq!(draft.problems(), [], "{}", entry.id);
            if kind == Kind::Cluster {
                let copy = read::cluster(&entry.id, &draft.text()).unwrap();
                assert_eq!(copy, *library.cluster(&entry.id).unwrap());
            } else {
                let copy = read::model(&entry.id, &draft.text()).unwrap();
                assert_eq!(copy, *library.model(&entry.id).unwrap());
            }
        }
    }
}

#[test]
fn a_value_takes_the_fields_unit_and_comments_stay() {
    let mut cluster = draft(Kind::Cluster);
    set(&mut cluster, "device.memory", "96").unwrap();
    set(&mut cluster, "levels[2].bandwidth", "400 Gb/s").unwrap();
    set(&mut cluster, "price_per_device_hour", "1.2 USD").unwrap();
    set(&mut cluster, "watts_per_device", "600").unwrap();
    set(&mut cluster, "device.peak.fp8", "0.8 PFLOP/s").unwrap();
    set(&mut cluster, "nodes", "").unwrap();
    let text = cluster.text();
    for line in
        ["memory = \"96 GiB\"", "bandwidth = \"400 Gb/s\"", "watts_per_device = \"600 W\"", "fp8 = \"0.8 PFLOP/s\""]
    {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(!text.contains("nodes ="), "left out");
    assert!(text.contains("{ a = 0, b = 1, bandwidth = \"200 GB/s\" },"), "what has no field stays as it was");
    assert_eq!(cluster.problems(), []);
    let facts = read::cluster("copy", &text).unwrap();
    // 400 Gb/s are 50 GB/s.
    assert_eq!(facts.levels[2].bandwidth, BytesPerSecond::new(50e9));
    assert_eq!(facts.price_per_device_hour.unwrap().to_string(), "1.20 USD");
}

#[test]
fn what_cannot_stand_is_refused_and_the_copy_stays() {
    let mut cluster = draft(Kind::Cluster);
    let before = cluster.text();
    for (path, text, why) in [
        ("device.memory", "many", "does not begin with a number"),
        ("device.memory", "-1", "not negative"),
        ("device.memory", "64 GB/s", "the unit is unknown"),
        ("device.memory", "", "must be given"),
        ("device.compute_units", "1.5", "write a whole number"),
        ("price_per_device_hour", "-1 EUR", "not negative"),
        ("watts_per_device", "-700", "not negative"),
    ] {
        let said = set(&mut cluster, path, text).expect_err(path);
        assert!(said.contains(why), "{path} {text}: {said}");
    }
    assert_eq!(cluster.text(), before);
    let mut model = draft(Kind::Model);
    assert_eq!(set(&mut model, "gated", "maybe").unwrap_err(), "write on or off");
    assert_eq!(set(&mut model, "norm", "batch").unwrap_err(), "write one of layer-norm, rms-norm, none");
}

#[test]
fn what_fields_make_of_each_other_is_said_at_the_field() {
    let mut model = draft(Kind::Model);
    set(&mut model, "kv_heads", "5").unwrap();
    assert_eq!(model.problems(), [Problem::must("kv_heads", "must divide the 32 heads")]);
    let mut cluster = draft(Kind::Cluster);
    set(&mut cluster, "levels[1].members", "").unwrap();
    let Problem { field, what: must, .. } = &cluster.problems()[0];
    assert_eq!((field.as_str(), must.contains("every level but the outermost")), ("levels[1].members", true), "{must}");
}

#[test]
fn a_copy_gets_an_id_that_nothing_has() {
    let mut library = embedded();
    let of = |library: &Library| {
        Draft::copy_of(library, Kind::Model, &scenario(library, "h100-80gb-dgx", "mpt-7b")).unwrap()
    };
    let first = of(&library);
    assert_eq!((first.id.as_str(), &first.replaces), ("mpt-7b-2", &None));
    library.add(Kind::Model, "mpt-7b-2", &first.text(), Origin::Embedded).unwrap();
    assert_eq!(of(&library).id, "mpt-7b-3");
}

#[test]
fn what_is_imported_gets_an_id_that_can_be_typed() {
    let library = embedded();
    let id = library.new_id(Kind::Cluster, "NVIDIA H100 SXM5 80GB, 16 nodes");
    assert_eq!(id, "nvidia-h100-sxm5-80gb-16-nodes");
    assert_eq!(library.new_id(Kind::Model, "MPT-7B"), "mpt-7b-imported", "the preset keeps its own");
}

/// A copy of a DGX H100 for other GPUs was reported as a DGX H100.
#[test]
fn a_copy_is_called_by_its_id_until_it_is_named() {
    let library = embedded();
    let name = |draft: &Draft| read::cluster(&draft.id, &draft.saving().text).unwrap().name;
    let mut copy = Draft::copy_of(&library, Kind::Cluster, &scenario(&library, "h100-80gb-dgx", "mpt-7b")).unwrap();
    copy.id = "b200-dgx".to_owned();
    assert_eq!(name(&copy), "b200-dgx");
    set(&mut copy, "name", "DGX B200").unwrap();
    assert_eq!(name(&copy), "DGX B200");
}

#[test]
fn facts_of_a_snapshot_are_copied_as_they_are() {
    let library = embedded();
    let mut scenario = scenario(&library, "h100-80gb-dgx", "mpt-7b");
    std::sync::Arc::make_mut(&mut scenario.model).layers = 7;
    let draft = Draft::copy_of(&library, Kind::Model, &scenario).unwrap();
    assert_eq!((slot(&draft, "layers").value.as_str(), draft.id.as_str()), ("7", "mpt-7b-2"));
    assert_eq!(draft.problems(), []);
}

/// The paths of what a file says.
fn said_in(path: &str, value: &toml::Value) -> Vec<String> {
    let under = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match value {
        toml::Value::Table(table) => table.iter().flat_map(|(name, value)| said_in(&under(name), value)).collect(),
        toml::Value::Array(items) => {
            items.iter().enumerate().flat_map(|(index, item)| said_in(&format!("{path}[{index}]"), item)).collect()
        }
        _ => vec![path.to_owned()],
    }
}

#[test]
fn a_copy_of_a_file_that_is_like_another_has_all_fields() {
    let library = embedded();
    let copy = Draft::copy_of(&library, Kind::Model, &scenario(&library, "mi250x-frontier", "llama2-7b")).unwrap();
    assert_eq!((slot(&copy, "layers").value, slot(&copy, "name").value), ("32".to_owned(), "Llama 2 7B".to_owned()));
    assert_eq!(copy.problems(), []);
}

#[test]
fn whatever_a_file_may_say_is_a_field() {
    assert!(schema::keys::<Cluster>().is_ok() && schema::keys::<Model>().is_ok(), "the schemas are understood");
    let library = embedded();
    for kind in [Kind::Cluster, Kind::Model] {
        for entry in library.entries(kind) {
            let document = entry.text.parse().expect("TOML");
            let draft = Draft { kind, id: entry.id.clone(), replaces: None, document, origin: None };
            let fields: Vec<String> = draft.slots().into_iter().map(|slot| slot.path).collect();
            let all = said_in("", &toml::from_str(&entry.text).expect("TOML"));
            let kept =
                |path: &str| ["format", "id", "like"].contains(&path) || path.ends_with("].a") || path.ends_with("].b");
            let missing: Vec<&String> = all.iter().filter(|path| !kept(path) && !fields.contains(path)).collect();
            assert_eq!(missing, Vec::<&String>::new(), "{}", entry.id);
        }
    }
}

#[test]
fn a_property_with_a_default_is_a_field_that_may_be_left_out() {
    let mut cluster = draft(Kind::Cluster);
    assert_eq!(slot(&cluster, "device.power_share").value, "");
    set(&mut cluster, "device.power_share", "0.7").unwrap();
    assert!(read::cluster("copy", &cluster.text()).unwrap().device.power_share < 0.71);
    assert_eq!(set(&mut cluster, "device.power_share", "most").unwrap_err(), "write a number, like 0.5");
    set(&mut cluster, "device.power_share", "").unwrap();
    assert!(!cluster.text().contains("power_share"));
}

#[test]
fn a_copy_says_what_it_is_one_of_and_what_was_changed() {
    let source = |text: &str| {
        let cluster = read::cluster("copy", text).unwrap();
        let level = cluster.levels[2].source.clone();
        (cluster.source, cluster.device.source, level)
    };
    let mut copy = draft(Kind::Cluster);
    let before = source(&copy.text());
    // As it is: the copy is named, and the facts have the sources that they had.
    let same = source(&copy.saving().text);
    assert_eq!(same.0, format!("copied from mi250x-frontier; there: {}", before.0));
    assert_eq!((&same.1, &same.2), (&before.1, &before.2));
    set(&mut copy, "device.memory", "128").unwrap();
    set(&mut copy, "levels[2].bandwidth", "50").unwrap();
    set(&mut copy, "nodes", "12").unwrap();
    let changed = source(&copy.saving().text);
    assert_eq!(changed.0, format!("copied from mi250x-frontier, changed: nodes; there: {}", before.0));
    assert_eq!(changed.1, format!("copied from mi250x-frontier, changed: memory, usable; there: {}", before.1));
    assert!(changed.2.starts_with("copied from mi250x-frontier, changed: bandwidth"), "{}", changed.2);
    // Who writes a source has the last word.
    set(&mut copy, "source", "our own machine room").unwrap();
    assert_eq!(source(&copy.saving().text).0, "our own machine room");
}

#[test]
fn it_says_of_what_each_rate_of_a_level_is() {
    let library = embedded();
    let frontier = Draft::copy_of(&library, Kind::Cluster, &scenario(&library, "mi250x-frontier", "mpt-7b")).unwrap();
    let of = |path: &str| slot(&frontier, path).note;
    assert_eq!(of("levels[0].bandwidth"), "device, in the package");
    assert_eq!(of("levels[2].bandwidth"), "device, between nodes");
    assert_eq!(of("levels[1].injection"), "of a whole package");
    assert_eq!(of("levels[2].injection"), "of a whole node");
    assert_eq!(of("levels[1].latency"), "");
}
