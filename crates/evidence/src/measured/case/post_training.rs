//! Rows of post-training: which method, beside which models, and on whose devices answers are written. What they say goes into
//! the fields of a scenario, by their flags. Not for rows of other training ([`super::plan`]).

use shardscope_engine::plan::PostMethod;
use shardscope_engine::presets::{Kind, Library};
use shardscope_engine::scenario::file::{ScenarioFile, parse};
use shardscope_engine::search::OwnFigure;
use shardscope_engine::units::{Bytes, Seconds};

use super::{Case, Cells, Peak, model};
use crate::measured::conventions::Reading;
use crate::measured::row::MeasuredRow;
use crate::measured::words;

/// Methods by the words of rows.
const METHODS: [(&str, PostMethod); 15] = [
    ("sft", PostMethod::Sft),
    ("dpo", PostMethod::Dpo),
    ("orpo", PostMethod::Orpo),
    ("simpo", PostMethod::Orpo),
    ("cpo", PostMethod::Orpo),
    ("kto", PostMethod::Kto),
    ("reward", PostMethod::Reward),
    ("reward model", PostMethod::Reward),
    ("distill", PostMethod::Distill),
    ("distillation off-policy", PostMethod::Distill),
    ("grpo", PostMethod::Grpo),
    ("rloo", PostMethod::Grpo),
    ("dapo", PostMethod::Grpo),
    ("gspo", PostMethod::Grpo),
    ("ppo", PostMethod::Ppo),
];

/// Programs that count the batch of an update in prompts (`ppo_mini_batch_size` of verl, `train.batch_size` of OpenRLHF is in
/// answers).
const COUNTS_PROMPTS: &str = "verl";

/// The machine of a row that states none: cards of 80 GB, of which memory alone is compared.
const CARDS: &str = "a100-80gb-dgx";

/// What a row says, on its way into a scenario.
struct RowFields<'a> {
    cells: Cells<'a>,
    library: &'a Library,
    file: ScenarioFile,
    method: PostMethod,
}

/// Lengths of answers with their prompts.
struct Lengths {
    /// The longest that there may be.
    longest: u32,
    /// Their mean, where it is another.
    mean: Option<u32>,
}

/// The case of a row, or why there is none.
pub(super) fn read(row: &MeasuredRow, library: &Library) -> Result<Case, String> {
    let method = word_of(row, "method", &METHODS)?;
    let text = library.scenario_text("default").map_err(|unknown| unknown.to_string())?;
    let file = parse(&text.text).map_err(|error| error.to_string())?;
    let mut said = RowFields { cells: Cells { row, assumed: Vec::new() }, library, file, method };
    let is_timed = said.machine()?;
    let peak = peak(row)?;
    let lengths = said.lengths()?;
    let updates = said.batch()?;
    let step_time = if is_timed { step_time(row, method, updates)? } else { None };
    if step_time.is_none() && peak.is_none() {
        return Err(nothing(row, method));
    }
    said.models(&lengths)?;
    if method.writes() {
        said.engine()?;
    }
    said.set("method", "method", &method.to_string())?;
    let mut scenario = said.library.resolve(&said.file).map_err(|problems| {
        problems.first().map_or_else(String::new, |problem| row.wrong("model", &format!("not possible: {problem}")))
    })?;
    scenario.name = row.id();
    // The peak is that of the longest answers, the time that of the mean.
    let mean = lengths.mean.map(|mean| {
        let mut shorter = scenario.clone();
        shorter.plan.sequence = mean;
        shorter
    });
    let more = if mean.is_some() { 1.0 } else { 0.0 };
    let scenarios = std::iter::once(scenario).chain(mean).collect();
    Ok(Case { row: row.clone(), scenarios, more, assumed: said.cells.assumed, step_time, peak })
}

/// The meaning of a cell's word, which must be one of some.
fn word_of<T: Copy>(row: &MeasuredRow, column: &str, words: &[(&str, T)]) -> Result<T, String> {
    let cell = row.text(column).to_lowercase();
    words.iter().find(|(word, _)| *word == cell).map(|(_, meaning)| *meaning).ok_or_else(|| {
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        row.wrong(column, &format!("nothing that is predicted; known: {}", known.join(", ")))
    })
}

/// Why a row has nothing to compare.
fn nothing(row: &MeasuredRow, method: PostMethod) -> String {
    if method.writes() && !row.text("step_s").is_empty() {
        return row.wrong(
            "step_s",
            "of a whole step, whose rollouts are not timed; write the seconds of its updates into 'update_s', or GiB into \
             'mem_gib_per_gpu'",
        );
    }
    let seconds = if method.writes() { "update_s" } else { "step_s" };
    format!(
        "has nothing to compare; write seconds into '{seconds}' and the machine into 'gpu', or GiB into 'mem_gib_per_gpu'"
    )
}

/// Seconds of an update: of a whole step where answers are given.
fn step_time(row: &MeasuredRow, method: PostMethod, updates: u32) -> Result<Option<f64>, String> {
    let column = if method.writes() { "update_s" } else { "step_s" };
    let stated = row.number(column)?.filter(|seconds| *seconds > 0.0 && row.text("scored") != "no");
    let Some(seconds) = stated.map(|seconds| seconds / f64::from(updates)) else { return Ok(None) };
    let sound = OwnFigure::StepTime(Seconds::new(seconds)).sound();
    sound.map_err(|what| row.wrong(column, &format!("not {what}")))?;
    Ok(Some(seconds))
}

/// The peak of memory that a row states.
fn peak(row: &MeasuredRow) -> Result<Option<Peak>, String> {
    let column = "mem_gib_per_gpu";
    let Some(amount) = row.number(column)?.filter(|amount| *amount > 0.0) else { return Ok(None) };
    let bytes = amount * Bytes::GIB;
    OwnFigure::Peak(bytes).sound().map_err(|what| row.wrong(column, &format!("not {what}")))?;
    let device = row.text("notes").contains("nvidia-smi");
    let reading = if device { Reading::Device } else { Reading::Allocator };
    Ok(Some(Peak { bytes, reading, offloaded: 0.0, first: false }))
}

impl RowFields<'_> {
    /// Sets a field from what a column says.
    fn set(&mut self, column: &str, flag: &str, value: &str) -> Result<(), String> {
        let row = self.cells.row;
        self.file.set(flag, value).map_err(|problem| row.wrong(column, &format!("wrong: {problem}")))
    }

    fn count(&mut self, column: &str, flag: &str) -> Result<Option<u32>, String> {
        let Some(count) = self.cells.row.count(column)? else { return Ok(None) };
        self.set(column, flag, &count.to_string())?;
        Ok(Some(count))
    }

    fn notes(&self, words: &str) -> bool {
        self.cells.row.text("notes").contains(words)
    }

    /// Machine and software; says whether a time can be compared, for which the machine must be known.
    fn machine(&mut self) -> Result<bool, String> {
        let row = self.cells.row;
        let gpu = row.text("gpu").split(' ').next().unwrap_or_default().to_lowercase();
        let is_known = !gpu.is_empty();
        let id = if is_known {
            let longer = format!("{gpu}-");
            let mut ids = self.library.entries(Kind::Cluster).map(|entry| entry.id.as_str());
            let found = ids.find(|id| *id == gpu || id.starts_with(&longer)).map(str::to_owned);
            found.ok_or_else(|| row.wrong("gpu", "none of `shardscope presets clusters`; write the id of one"))?
        } else {
            let why = "the machine is not stated: peaks alone are compared, on cards of 80 GB";
            self.cells.assume("gpu", &CARDS, why);
            CARDS.to_owned()
        };
        self.set("gpu", "hardware", &id)?;
        let (stack, strategy) = backend(row)?;
        // A user's own stack may stand in a column of its own.
        let own = row.text("stack");
        self.set("stack", "stack", if own.is_empty() { stack } else { own })?;
        self.set("train_backend", "strategy", strategy)?;
        if !row.text("precision_train").is_empty() {
            let precision = words::precision(row.text("precision_train"));
            let precision = precision.ok_or_else(|| row.wrong("precision_train", "no format; write bf16 or fp8"))?;
            self.set("precision_train", "precision", &precision.to_string())?;
        }
        Ok(is_known)
    }

    /// How long answers are.
    fn lengths(&mut self) -> Result<Lengths, String> {
        let row = self.cells.row;
        let both = |[whole, prompt, answer]: [&str; 3]| -> Result<Option<f64>, String> {
            let apart = row.number(prompt)?.zip(row.number(answer)?).map(|(prompt, answer)| prompt + answer);
            Ok(row.number(whole)?.or(apart))
        };
        let longest = both(["seq_len_max", "prompt_len_max", "response_len_max"])?;
        let mean = both(["seq_len_mean", "prompt_len_mean", "response_len_mean"])?;
        let longest = longest.ok_or("'seq_len_max' is blank, and nothing can stand for it; write a whole number")?;
        self.set("seq_len_max", "seq", &longest.to_string())?;
        let packed = self.notes("packed");
        if packed {
            self.set("notes", "padding", "packed")?;
        } else if mean.is_none() && !self.method.writes() {
            return Err(
                "'seq_len_mean' is blank, and no note says that answers are packed, so that nobody knows how long a \
                        batch was; write the mean, or `packed` into 'notes'"
                    .to_owned(),
            );
        }
        let mean = mean.map(|mean| mean.round().max(1.0) as u32);
        let longest = longest as u32;
        Ok(Lengths { longest, mean: mean.filter(|mean| !packed && *mean < longest) })
    }

    /// Ranks and batches; returns the updates of a step.
    fn batch(&mut self) -> Result<u32, String> {
        let row = self.cells.row;
        let devices = match row.count("gpus_train")? {
            Some(devices) => devices,
            None => row.needed("gpus_total")?,
        };
        self.set("gpus_train", "devices", &devices.to_string())?;
        let mut ranks = |column: &str, flag: &str| Ok::<u32, String>(self.count(column, flag)?.unwrap_or(1));
        let (tensor, pipeline) = (ranks("train_tp", "tp")?, ranks("train_pp", "pp")?);
        let (context, experts) = (ranks("train_cp", "cp")?, ranks("train_ep", "ep")?);
        let shared = tensor.saturating_mul(pipeline).saturating_mul(context);
        if !devices.is_multiple_of(shared) {
            return Err(format!(
                "'gpus_train': {devices} devices are not a multiple of train_tp {tensor} x train_pp {pipeline} x train_cp \
                 {context}"
            ));
        }
        if experts > 1 && !(devices / pipeline).is_multiple_of(experts.saturating_mul(tensor)) {
            let why = "as many tensor ranks in the experts as around them do not divide a stage's devices";
            self.cells.assume("train_ep", &"whole experts", why);
            self.set("train_ep", "etp", "1")?;
        }
        let micro = words::after(row.text("notes"), "micro-batch ").map_or(1, |count| count.max(1.0) as u32);
        if !self.notes("micro-batch ") {
            self.cells.assume("notes", &"micro-batch 1", "no column says it; write `micro-batch N`");
        }
        self.set("notes", "micro-batch", &micro.to_string())?;
        self.set("update_batch", "global-batch", "free")?;
        let prompts = row.text("framework") == COUNTS_PROMPTS;
        let group = if prompts { row.count("group_size")?.unwrap_or(1) } else { 1 };
        let at_once = f64::from(devices / shared) * f64::from(micro);
        let update = row.number("update_batch")?.map(|batch| batch * f64::from(group));
        let accumulate = update.map_or(1.0, |update| (update / at_once).round().max(1.0));
        if update.is_none() {
            self.cells.assume("update_batch", &at_once, "one micro-batch of each rank");
        }
        self.set("update_batch", "accumulate", &accumulate.to_string())?;
        let written = row.number("samples_per_step")?.filter(|_| self.method.writes());
        let updates = written.map_or(1.0, |samples| (samples / (accumulate * at_once)).round().max(1.0));
        if self.method.writes() {
            self.set("samples_per_step", "updates", &updates.to_string())?;
            self.count("group_size", "group")?;
        }
        Ok(updates as u32)
    }

    /// The model, what of it is trained, and what stands beside it.
    fn models(&mut self, lengths: &Lengths) -> Result<(), String> {
        let row = self.cells.row;
        let id = id_of(row.text("model"));
        if self.library.model(&id).is_ok() {
            self.set("model", "model", &id)?;
            // A model brings a sequence of its own.
            self.set("seq_len_max", "seq", &lengths.longest.to_string())?;
        } else if row.text("layers").is_empty() {
            return Err(row.wrong(
                "model",
                "none of `shardscope presets models`; write the id of one, or its sizes into columns layers, hidden, heads, \
                 kv_heads, ffn_hidden and vocab",
            ));
        } else {
            let tensor = row.count("train_tp")?.unwrap_or(1);
            let shape = model::read(&mut self.cells, self.library, tensor, lengths.longest)?;
            (self.file.model, self.file.shape) = (row.id(), Some(shape));
        }
        if let Some(rank) = row.count("lora_rank")? {
            self.set("lora_rank", "train", "lora")?;
            self.set("lora_rank", "lora-rank", &rank.to_string())?;
        }
        let recompute = match () {
            () if self.notes("full recompute") => "full",
            () if self.notes("no recompute") => "none",
            () => {
                let usual = usual_recompute(row);
                self.cells.assume("notes", &format!("recompute {usual}"), "what the program does unless it is told");
                usual
            }
        };
        self.set("notes", "recompute", recompute)?;
        if self.notes("optimizer on the host") {
            self.set("notes", "offload", "optimizer")?;
        }
        self.beside()
    }

    /// Models beside the trained one.
    fn beside(&mut self) -> Result<(), String> {
        let row = self.cells.row;
        let (own, reference) = (id_of(row.text("model")), row.text("reference"));
        if let Some(teacher) = reference.strip_prefix("teacher ") {
            let host = reference.contains("host");
            let teacher = id_of(teacher.split(',').next().unwrap_or_default());
            match (teacher == own, host) {
                (true, host) => self.set("reference", "teacher", if host { "host" } else { "resident" })?,
                (false, false) => self.set("reference", "teacher", &teacher)?,
                (false, true) => {
                    let what = "a model of its own on the host, which no plan says; leave the host out, or the row";
                    return Err(row.wrong("reference", what));
                }
            }
        } else if reference.starts_with("no") && self.method.of_reference() > 0 {
            self.set("reference", "reference", "none")?;
        }
        if self.method.has_critic() && row.text("critic").contains("reward model") {
            self.set("critic", "reward-model", "resident")?;
        }
        Ok(())
    }

    /// The engine that writes answers.
    fn engine(&mut self) -> Result<(), String> {
        let row = self.cells.row;
        let layouts =
            [("colocated", "colocated"), ("colocated sync", "colocated"), ("split", "split"), ("split sync", "split")];
        let layout = word_of(row, "layout", &layouts)?;
        self.set("layout", "layout", layout)?;
        if row.text("rollout_engine").is_empty() {
            return Err(
                "'rollout_engine' is blank: of a trainer that writes its answers itself nothing is known; write vLLM \
                        or SGLang, or leave the row out"
                    .to_owned(),
            );
        }
        if layout == "split" {
            let devices = row.needed("gpus_rollout")?;
            self.set("gpus_rollout", "rollout-devices", &devices.to_string())?;
        }
        self.count("rollout_tp", "rollout-tp")?;
        match words::after(row.text("notes"), "gpu_memory_utilization ") {
            Some(share) => self.set("notes", "rollout-share", &share.to_string())?,
            None => self.cells.assume("notes", &"gpu_memory_utilization", "the engine's share is the usual one"),
        }
        if let Some(level) = words::after(row.text("notes"), "sleep level ") {
            self.set("notes", "sleep", &level.to_string())?;
        }
        Ok(())
    }
}

/// The id of a preset that a name means: `Llama-3.1-8B` is `llama-3.1-8b`.
fn id_of(name: &str) -> String {
    name.trim().to_lowercase().replace(' ', "-")
}

/// The stack and the strategy of what trains.
fn backend(row: &MeasuredRow) -> Result<(&'static str, &'static str), String> {
    let (backend, nemo) = (row.text("train_backend").to_lowercase(), row.text("framework") == "NeMo RL");
    let stages = [("zero-1", "zero1"), ("zero-2", "zero2"), ("zero-3", "zero3")];
    let staged = stages.iter().find(|(word, _)| backend.contains(word)).map(|(_, strategy)| *strategy);
    match () {
        () if backend.contains("megatron") => {
            Ok((if nemo { "megatron-bridge-2025" } else { "megatron-core-2026" }, "zero1"))
        }
        () if backend.contains("fsdp") || backend.contains("dtensor") => {
            Ok((if nemo { "automodel-2026" } else { "accelerate" }, "fsdp"))
        }
        () => staged.map(|strategy| ("hf-deepspeed-2024", strategy)).ok_or_else(|| {
            row.wrong(
                "train_backend",
                "no program that is known; write Megatron Core, FSDP, or DeepSpeed ZeRO-1, ZeRO-2 or ZeRO-3",
            )
        }),
    }
}

/// What programs compute again where nothing is said: `activation_checkpointing` of NeMo RL and `gradient_checkpointing` of
/// `OpenRLHF` are off, Megatron-SWIFT's is selective, those of verl, TRL, ms-swift and LLaMA-Factory are on.
fn usual_recompute(row: &MeasuredRow) -> &'static str {
    match row.text("framework") {
        "NeMo RL" | "OpenRLHF" => "none",
        "ms-swift" if row.text("train_backend").contains("Megatron") => "selective",
        _ => "full",
    }
}
