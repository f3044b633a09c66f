//! Classifies kernels by name into the kinds of work that a timeline sums up.

use serde::Serialize;

/// The kind of work of a kernel, a copy or a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TracedWork {
    /// Forward passes of a simulated step.
    Forward,
    /// Backward passes of a simulated step.
    Backward,
    /// Matrix products and convolutions.
    Products,
    /// Fused attention.
    Attention,
    /// Norms, softmax and sums.
    Norms,
    /// Elementwise work: activations, casts, layouts.
    Elementwise,
    /// The optimizer's update.
    Optimizer,
    /// Kernels with other names.
    OtherKernels,
    /// Shards are gathered to the whole.
    AllGather,
    /// Sums are scattered as shards.
    ReduceScatter,
    /// Sums go to every rank.
    AllReduce,
    /// Every rank sends a part to every other.
    AllToAll,
    /// One device sends to another.
    SendRecv,
    /// One rank sends to all.
    Broadcast,
    /// Collectives with other names.
    OtherCollectives,
    /// Copies, on the device or to the host.
    Copies,
}

/// A class of work that one figure of a step sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkClass {
    /// Kernels of the model and of the optimizer.
    Compute,
    /// Collectives and transfers between devices.
    Communication,
    /// Copies.
    Copies,
}

/// Parts of kernel names; the first that matches decides. Names often tell how a kernel is made (`cutlass`, Tensile's
/// `Cijk`, `xmma`), not what it is for.
const KERNELS: [(TracedWork, &[&str]); 5] = [
    (TracedWork::Attention, &["flash", "fmha", "attention", "attn"]),
    (TracedWork::Products, &["gemm", "cutlass", "cublas", "xmma", "cijk", "wgrad", "dgrad", "conv", "matmul", "gemv"]),
    (TracedWork::Optimizer, &["multi_tensor", "adam", "sgd", "lamb", "optimizer"]),
    (TracedWork::Norms, &["norm", "softmax", "bn_", "reduce"]),
    (TracedWork::Elementwise, &["elementwise", "copy", "cat", "nchw", "nhwc", "fill", "triton_poi"]),
];

const COLLECTIVES: [(TracedWork, &[&str]); 6] = [
    (TracedWork::ReduceScatter, &["reduce_scatter", "reducescatter"]),
    (TracedWork::AllGather, &["allgather", "all_gather"]),
    (TracedWork::AllReduce, &["allreduce", "all_reduce"]),
    (TracedWork::AllToAll, &["alltoall", "all_to_all"]),
    (TracedWork::Broadcast, &["broadcast"]),
    (TracedWork::SendRecv, &["send", "recv"]),
];

impl TracedWork {
    /// A kernel's kind of work. The collective's name says more than the kernel's: all-to-alls run as sends and receives.
    pub(crate) fn of_kernel(name: &str, collective: Option<&str>) -> Self {
        let name = name.to_lowercase();
        if name.starts_with("nccl") || name.starts_with("rccl") || collective.is_some() {
            let called = collective.unwrap_or_default().to_lowercase();
            let found = listed(&COLLECTIVES, &called).or_else(|| listed(&COLLECTIVES, &name));
            return found.unwrap_or(Self::OtherCollectives);
        }
        match name.split(' ').next() {
            // Names that `export` writes.
            Some("forward") => Self::Forward,
            Some("backward") => Self::Backward,
            _ if name.starts_with("memcpy") || name.starts_with("memset") => Self::Copies,
            _ => listed(&KERNELS, &name).unwrap_or(Self::OtherKernels),
        }
    }

    /// The class under which this work is counted.
    pub(super) fn class(self) -> WorkClass {
        match self {
            Self::Copies => WorkClass::Copies,
            work if COLLECTIVES.iter().any(|(collective, _)| *collective == work) || work == Self::OtherCollectives => {
                WorkClass::Communication
            }
            _ => WorkClass::Compute,
        }
    }

    /// True if a step waits for this work when nothing computes beside it.
    pub(crate) fn is_exposed(self) -> bool {
        self.class() != WorkClass::Compute
    }

    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward passes",
            Self::Backward => "backward passes",
            Self::Products => "matrix products",
            Self::Attention => "attention",
            Self::Norms => "norms and sums",
            Self::Elementwise => "elementwise",
            Self::Optimizer => "optimizer",
            Self::OtherKernels => "other kernels",
            Self::AllGather => "all-gather",
            Self::ReduceScatter => "reduce-scatter",
            Self::AllReduce => "all-reduce",
            Self::AllToAll => "all-to-all",
            Self::SendRecv => "send and receive",
            Self::Broadcast => "broadcast",
            Self::OtherCollectives => "other collectives",
            Self::Copies => "copies",
        }
    }
}

fn listed(list: &[(TracedWork, &[&str])], name: &str) -> Option<TracedWork> {
    list.iter().find(|(_, words)| words.iter().any(|word| name.contains(word))).map(|(work, _)| *work)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_frameworks_give_are_sorted() {
        for (name, collective, work) in [
            ("ncclDevKernel_AllGather_RING_LL(ncclDevComm*)", None, TracedWork::AllGather),
            ("ncclKernel_AllReduce_RING_LL_Sum_float", Some("allreduce"), TracedWork::AllReduce),
            ("ncclDevKernel_SendRecv(ncclDevComm*)", Some("all_to_allv"), TracedWork::AllToAll),
            ("ncclDevKernel_SendRecv(ncclDevComm*)", Some("recv"), TracedWork::SendRecv),
            ("ncclDevKernel_Generic_1(ncclDevKernelArgs)", Some("_reduce_scatter_base"), TracedWork::ReduceScatter),
            ("ncclDevKernel_Generic_1(ncclDevKernelArgs)", None, TracedWork::OtherCollectives),
            ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n", None, TracedWork::Products),
            ("Cijk_Alik_Bljk_SB_Bias_AS_SAV_UserArgs_MT64x16x32", None, TracedWork::Products),
            ("void cutlass::device_kernel<flash::enable_sm90<FlashAttnFwdSm90>>", None, TracedWork::Attention),
            ("void at::native::vectorized_elementwise_kernel<4>", None, TracedWork::Elementwise),
            ("void at::native::multi_tensor_apply_kernel", None, TracedWork::Optimizer),
            ("Memcpy DtoD (Device -> Device)", None, TracedWork::Copies),
            ("forward attention", None, TracedWork::Forward),
            ("optimizer model", None, TracedWork::Optimizer),
            ("\u{202e}", None, TracedWork::OtherKernels),
        ] {
            assert_eq!(TracedWork::of_kernel(name, collective), work, "{name}");
        }
    }
}
