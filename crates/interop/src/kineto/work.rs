//! What a kernel does, by its name: the kinds in which a timeline is summed up.

use serde::Serialize;

/// What a kernel, a copy or a collective is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TracedWork {
    /// Forward passes of a simulated step.
    Forward,
    /// Backward passes of a simulated step.
    Backward,
    /// Products of matrices, and convolutions.
    Products,
    /// Fused attention.
    Attention,
    /// Norms, softmax and sums.
    Norms,
    /// Element by element: activations, casts, layouts.
    Elementwise,
    /// The optimizer's update.
    Optimizer,
    /// Kernels of other names.
    OtherKernels,
    /// Shards to the whole.
    AllGather,
    /// Sums to shards.
    ReduceScatter,
    /// Sums to everyone.
    AllReduce,
    /// Parts to each other.
    AllToAll,
    /// From one device to another.
    SendRecv,
    /// From one to all.
    Broadcast,
    /// Collectives of other names.
    OtherCollectives,
    /// Copies, on the device or to the host.
    Copies,
}

/// What a figure of a step counts together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkClass {
    /// Kernels of the model and of the optimizer.
    Compute,
    /// Collectives and transfers between devices.
    Communication,
    /// Copies.
    Copies,
}

/// Words of names, the first that is in a name decides. Names of kernels say how they are made (`cutlass`, `Cijk` of
/// Tensile, `xmma`) rather than what for.
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
    /// What a kernel does. A collective's own name says more than its kernel's: all-to-alls are sends and receives.
    pub(crate) fn of_kernel(name: &str, collective: Option<&str>) -> Self {
        let name = name.to_lowercase();
        if name.starts_with("nccl") || name.starts_with("rccl") || collective.is_some() {
            let called = collective.unwrap_or_default().to_lowercase();
            let found = listed(&COLLECTIVES, &called).or_else(|| listed(&COLLECTIVES, &name));
            return found.unwrap_or(Self::OtherCollectives);
        }
        match name.split(' ').next() {
            // What `export` writes.
            Some("forward") => Self::Forward,
            Some("backward") => Self::Backward,
            _ if name.starts_with("memcpy") || name.starts_with("memset") => Self::Copies,
            _ => listed(&KERNELS, &name).unwrap_or(Self::OtherKernels),
        }
    }

    /// With what it is counted.
    pub(super) fn class(self) -> WorkClass {
        match self {
            Self::Copies => WorkClass::Copies,
            work if COLLECTIVES.iter().any(|(collective, _)| *collective == work) || work == Self::OtherCollectives => {
                WorkClass::Communication
            }
            _ => WorkClass::Compute,
        }
    }

    /// Whether it can run without compute beside it, which a step then waits for.
    pub(crate) fn is_exposed(self) -> bool {
        self.class() != WorkClass::Compute
    }

    /// What a table calls it.
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
