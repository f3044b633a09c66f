//! What vendors and projects state of a family of devices, each family once. Not for what was measured of it: a calibration has
//! that by the family's name.

/// A family of devices that run the same kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Architecture {
    /// What its name begins with: `ampere-ga102` is of `ampere`.
    pub begins: &'static str,
    /// Who makes its devices.
    pub maker: Maker,
    /// Whether flash attention 2 is made for it: Ampere and later of NVIDIA's (Dao-AILab/flash-attention, README.md).
    pub flash2: bool,
    /// Whether flash attention 3 is made for it: Hopper (the same).
    pub flash3: bool,
    /// Whether `cuDNN`'s attention is made for it: Ampere and later (NVIDIA, `cuDNN`'s support matrix).
    pub cudnn: bool,
    /// GB/s that a direct link between two devices carries in each direction (NVIDIA's data sheets of `NVLink`).
    pub link: u32,
}

/// Who makes devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Maker {
    /// NVIDIA.
    Nvidia,
    /// AMD.
    Amd,
    /// Intel.
    Intel,
    /// Somebody else.
    Other,
}

/// Of NVIDIA's before Ampere.
const EARLY: Architecture =
    Architecture { begins: "volta", maker: Maker::Nvidia, flash2: false, flash3: false, cudnn: false, link: 25 };

/// Of NVIDIA's from Ampere on.
const LATER: Architecture = Architecture { begins: "ampere", flash2: true, cudnn: true, ..EARLY };

/// One of which nothing is known: no kernel is refused.
const UNKNOWN: Architecture =
    Architecture { begins: "", maker: Maker::Other, flash2: true, flash3: true, cudnn: true, link: 25 };

/// Every family that is known.
const ARCHITECTURES: [Architecture; 8] = [
    EARLY,
    Architecture { begins: "turing", ..EARLY },
    LATER,
    Architecture { begins: "ada", ..LATER },
    Architecture { begins: "hopper", flash3: true, ..LATER },
    Architecture { begins: "blackwell", link: 50, ..LATER },
    Architecture { begins: "cdna", maker: Maker::Amd, flash3: false, cudnn: false, ..UNKNOWN },
    Architecture { begins: "xe", maker: Maker::Intel, flash3: false, cudnn: false, ..UNKNOWN },
];

impl Architecture {
    /// The family of a name.
    pub fn named(name: &str) -> Self {
        ARCHITECTURES.into_iter().find(|known| name.starts_with(known.begins)).unwrap_or(UNKNOWN)
    }

    /// Whether anything is known of it.
    pub fn is_known(self) -> bool {
        self != UNKNOWN
    }
}
