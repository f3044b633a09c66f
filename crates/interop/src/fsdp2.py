"""Applies a plan of shardscope to a PyTorch model by FSDP2.

    spec = json.load(open("fsdp2.json"))        # first adapt its paths to your model
    begin = apply(model, spec)                  # after torch.distributed has started
    for index, batch in enumerate(micro_batches):
        begin(last=index == len(micro_batches) - 1)
        loss(model(batch)).backward()
    optimizer.step()
"""

from collections import deque

import torch
import torch.distributed as dist
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy, fully_shard
from torch.utils._python_dispatch import TorchDispatchMode

MATRIX_PRODUCTS = [torch.ops.aten.mm.default, torch.ops.aten.addmm.default]


class SplitLinear(torch.nn.Module):
    """A linear map in slices along its inputs, each gathered and computed after the other."""

    def __init__(self, linear, slices):
        super().__init__()
        self.slices = torch.nn.ModuleList()
        for index, weight in enumerate(linear.weight.chunk(slices, dim=1)):
            bias = linear.bias is not None and index == 0
            part = torch.nn.Linear(weight.shape[1], weight.shape[0], bias, device="meta")
            part.weight = torch.nn.Parameter(weight.detach().clone())
            if bias:
                part.bias = linear.bias
            self.slices.append(part)

    def forward(self, inputs):
        pieces = inputs.chunk(len(self.slices), dim=-1)
        return sum(part(piece) for part, piece in zip(self.slices, pieces))


def expanded(spec):
    """Each entry with each layer that it is for, or with None."""
    for entry in spec["modules"]:
        first, _, last = (entry["layers"] or "").partition("-")
        for layer in range(int(first), int(last or first) + 1) if first else [None]:
            yield entry, layer


def split(module, slices):
    """Puts slices in the place of the linear maps of a module, and gives the slices."""
    linears = [(name, part) for name, part in module.named_modules() if isinstance(part, torch.nn.Linear)]
    for name, part in linears:
        module.set_submodule(name, SplitLinear(part, slices))
    return [part for name, _ in linears for part in module.get_submodule(name).slices]


def tied(model, module):
    """The module, and those elsewhere that use its weights: FSDP2 wants them in one group."""
    own, inside = set(module.parameters()), set(module.modules())
    others = [other for other in model.modules() if other not in inside and own & set(other.parameters(recurse=False))]
    return [module, *others]


class MatrixProducts(TorchDispatchMode):
    """Keeps what matrix products give in forward, or gives it back where forward is computed again.

    PyTorch's own selective contexts count every operation, and those that gather what is sharded inside differ.
    """

    def __init__(self, kept, again):
        super().__init__()
        self.kept, self.again = kept, again

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        product = func in MATRIX_PRODUCTS
        if product and self.again:
            return self.kept.popleft()
        result = func(*args, **(kwargs or {}))
        if product:
            self.kept.append(result.detach())
        return result


def selective():
    """Contexts of a forward and of its repetition: all but the matrix products is computed again."""
    kept = deque()
    return MatrixProducts(kept, again=False), MatrixProducts(kept, again=True)


def checkpointed(block, recompute):
    """The block as its backward computes it again."""
    return checkpoint_wrapper(block, context_fn=selective) if recompute == "selective" else checkpoint_wrapper(block)


def apply(model, spec, device_type="cuda"):
    """Shards, splits and checkpoints in place; gives what to call before each micro-batch."""
    world = dist.get_world_size()
    if world != spec["ranks"]:
        raise ValueError(f"the plan is for {spec['ranks']} ranks, not {world}")
    dtypes = [getattr(torch, spec[name]) for name in ("param_dtype", "reduce_dtype")]
    shared = {
        "mp_policy": MixedPrecisionPolicy(*dtypes),
        "offload_policy": CPUOffloadPolicy() if spec["offload"] else OffloadPolicy(),
    }
    meshes = {world: init_device_mesh(device_type, (world,), mesh_dim_names=("shard",))}
    applied, blocks = [], {}

    def shard(module, entry):
        size = entry["shard"]
        if size not in meshes:
            names = ("replicate", "shard")
            meshes[size] = init_device_mesh(device_type, (world // size, size), mesh_dim_names=names)
        group = tied(model, module)
        fully_shard(group, mesh=meshes[size], reshard_after_forward=entry["reshard_after_forward"], **shared)
        applied.append((module, entry))

    for entry, layer in expanded(spec):
        module = model.get_submodule(entry["path"].format(layer=layer))
        parts = split(module, entry["split"]) if entry["split"] > 1 else []
        for part in parts:
            shard(part, entry)
        if layer is not None:
            # What the halves of a block leave, like its norms, goes with the block.
            blocks.setdefault(spec["layer_path"].format(layer=layer), entry)
        if entry["operator"] != "layer":
            shard(module, entry)
    for path, entry in blocks.items():
        block = model.get_submodule(path)
        if entry["recompute"] != "none":
            block = checkpointed(block, entry["recompute"])
            model.set_submodule(path, block)
        shard(block, entry)
    fully_shard(model, mesh=meshes[world], **shared)

    def begin(last):
        for module, entry in applied:
            module.set_requires_gradient_sync(last or entry["reduce"] != "step", recurse=False)
            if entry["reduce"] == "sharded-last":
                module.set_requires_all_reduce(last, recurse=False)
            module.set_reshard_after_backward(last or entry["reshard_after_backward"], recurse=False)

    return begin
