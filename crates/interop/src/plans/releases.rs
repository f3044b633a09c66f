//! Releases that container names and package lists give, and the stacks for them. Does not tell a file's tool.

use std::path::Path;

use super::LauncherFile;

/// A package or an image, and the stacks of its releases, the newest first.
struct Release {
    /// The name, in lower case and with hyphens.
    name: &'static str,
    /// The tool's stack when no release is known; any other stack is kept.
    usual: &'static str,
    /// First releases (year and month for an image), and the stack for runs from then on.
    stacks: &'static [([u32; 2], &'static str)],
}

/// Code mounted beside an image is as old as the image, or newer.
const RELEASES: [Release; 7] = [
    Release {
        name: "megatron-core",
        usual: "megatron-2024",
        stacks: &[([0, 13], "megatron-core-2026"), ([0, 0], "megatron-2024")],
    },
    // 25.09 is the first container whose runs Megatron Bridge publishes (its docs/performance-summary-archive.md).
    // PyTorch's container holds no Megatron-LM: its users bring code of its time.
    Release { name: "nvidia/nemo", usual: "megatron-2024", stacks: &[([25, 9], "megatron-core-2026")] },
    Release { name: "nvidia/pytorch", usual: "megatron-2024", stacks: &[([25, 9], "megatron-core-2026")] },
    Release { name: "rocm/megatron-lm", usual: "megatron-2024", stacks: &[([24, 0], "primus-megatron-2025")] },
    Release { name: "rocm/primus", usual: "megatron-2024", stacks: &[([24, 0], "primus-megatron-2025")] },
    Release {
        name: "torchtitan",
        usual: "torchtitan",
        stacks: &[([0, 3], "torchtitan-2026"), ([0, 1], "torchtitan-2025")],
    },
    // ZeRO++ came with 0.10.
    Release {
        name: "deepspeed",
        usual: "deepspeed-zeropp-2023",
        stacks: &[([0, 10], "deepspeed-zeropp-2023"), ([0, 0], "deepspeed-zero3-2022")],
    },
];

/// The stack of a release that the files name, in place of a tool's default; also the file and the release.
pub(super) fn stack_of(usual: &str, files: &[LauncherFile<'_>]) -> Option<(&'static str, String)> {
    let own = || RELEASES.iter().filter(|release| release.usual == usual);
    let named = files.iter().flat_map(|file| {
        // Enroot writes `nvidia+pytorch+25.03` and `nvcr.io#nvidia/pytorch`.
        let text = file.text.to_lowercase().replace('_', "-");
        own().filter_map(move |release| {
            let version = version(&text, release.name).or_else(|| version(&text.replace('+', "/"), release.name))?;
            let (_, stack) = release.stacks.iter().find(|(first, _)| version >= *first)?;
            Some((*stack, format!("{}: {} {}.{}", file.name, release.name, version[0], version[1])))
        })
    });
    named.into_iter().next()
}

/// True if a file lists packages, by its name: it holds no plan, and accompanies one.
pub(super) fn lists_packages(name: &str) -> bool {
    let name = name.rsplit(['/', '\\']).next().unwrap_or(name).to_lowercase();
    let is_lock = Path::new(&name).extension().is_some_and(|extension| extension == "lock");
    let begins = ["requirements", "constraints", "environment.", "dockerfile", "pipfile"];
    is_lock || begins.iter().any(|begin| name.starts_with(begin))
}

/// The first two numbers of a version after a name: `name==1.2`, `name = "1.2"`, `name:25.03-py3`, or on its own line
/// under `version`. An upper bound does not count.
fn version(text: &str, name: &str) -> Option<[u32; 2]> {
    text.match_indices(name).find_map(|(at, _)| {
        let before = text[..at].chars().next_back();
        if before.is_some_and(|sign| sign.is_ascii_alphanumeric() || sign == '-') {
            return None;
        }
        let rest = &text[at + name.len()..];
        let digits = rest.find(|sign: char| sign.is_ascii_digit())?;
        let between = rest[..digits].replace("version", "");
        let is_sign = |sign: char| "=~>:\"', v{/\r\n\t".contains(sign);
        let assigns = between.contains(['=', ':', '/', '>']);
        if !assigns || between.len() > 20 || !between.chars().all(is_sign) {
            return None;
        }
        let numbers = rest[digits..].split(|sign: char| !sign.is_ascii_digit() && sign != '.').next()?;
        let mut numbers = numbers.split('.').map(|number| number.parse::<u32>().ok());
        Some([numbers.next()??, numbers.next().flatten().unwrap_or(0)])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Images as Docker, Enroot and Pyxis name them, and lists of pip, uv, Pipenv and conda.
    #[test]
    fn releases_are_read_as_tools_write_them() {
        for (text, name, expected) in [
            ("#SBATCH --container-image=nvcr.io/nvidia/pytorch:25.03-py3", "nvidia/pytorch", [25, 3]),
            ("megatron-core==0.13.1\n", "megatron-core", [0, 13]),
            ("[[package]]\nname = \"megatron-core\"\nversion = \"0.12.2\"\n", "megatron-core", [0, 12]),
            ("\"deepspeed\": {\n \"version\": \"==0.15.4\"", "deepspeed", [0, 15]),
            ("  - deepspeed=0.9.5\n", "deepspeed", [0, 9]),
            ("docker run rocm/megatron-lm:v25.5-py310 bash", "rocm/megatron-lm", [25, 5]),
            ("pip install 'torchtitan>=0.2'", "torchtitan", [0, 2]),
        ] {
            assert_eq!(version(text, name), Some(expected), "{text}");
        }
        for (text, name) in [
            ("deepspeed --num_gpus 8 train.py", "deepspeed"),
            ("deepspeed<0.10", "deepspeed"),
            ("--deepspeed ds_z3.json", "deepspeed"),
            ("megatron-deepspeed==0.3", "deepspeed"),
        ] {
            assert_eq!(version(text, name), None, "{text}");
        }
        let file = |text| [LauncherFile { name: "run.sh", text }];
        let enroot = stack_of("megatron-2024", &file("srun --container-image ~/nvidia+pytorch+25.09-py3.sqsh"));
        assert_eq!(enroot.map(|(stack, _)| stack), Some("megatron-core-2026"));
        assert_eq!(stack_of("megatron-2024", &file("nvcr.io/nvidia/pytorch:24.01-py3")), None);
        assert_eq!(stack_of("accelerate", &file("deepspeed==0.15")), None);
    }
}
