"""
Checkpoints: fp32 weights and the optimizer's state by global name, so that another layout can continue from
them. A folder step-N has a file for each rank that has something to save, and index.json, which names the files
of each parameter. It gets its name when all of it is on disk: a run that dies while saving leaves the one before.
A folder that is not whole, whatever cut it, is passed over.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from terapipe_torch.errors import RuntimeRefusal
from terapipe_torch.model.stage import EMBEDDING, HEAD, shard_of
from terapipe_torch.training import Trainer

VERSION = 1
# what is kept of a parameter that trains
KINDS = ("master", "exp_avg", "exp_avg_sq")


@dataclass(frozen=True)
class _Part:
    """Elements start..end of the flat part `index` of `count` along `dim` that a file has of a parameter; shape: of the whole."""

    file: str
    start: int
    end: int
    index: int
    count: int
    dim: int | None
    shape: tuple[int, ...]


@dataclass(frozen=True)
class _Saved:
    """What one rank wrote: where its parts are, by name, and the bytes of its files."""

    parts: dict[str, _Part]
    files: dict[str, int]


def save_checkpoint(trainer: Trainer, folder: str) -> Path:
    """Writes step-N of the steps done so far. Collective; on several nodes the folder must be on a file system that they share."""
    root, mesh = Path(folder), trainer.mesh
    final, partial = root / f"step-{trainer.next_step}", root / f".step-{trainer.next_step}.partial"
    if mesh.rank == 0:
        for left in root.glob(".step-*.partial"):
            shutil.rmtree(left)
        partial.mkdir(parents=True)
    _barrier(trainer)
    saved = _save_own(trainer, partial)
    gathered: list[Any] | None = [None] * mesh.world.size if mesh.rank == 0 else None
    if mesh.world.group is not None:
        dist.gather_object(saved, gathered, group=mesh.world.group)
    if mesh.rank == 0:
        _write_index(trainer, partial, [saved] if mesh.world.group is None else gathered or [])
        replaced = root / f".step-{trainer.next_step}-replaced.partial"
        if final.exists():
            final.rename(replaced)
        partial.rename(final)
        _sync(root)
        shutil.rmtree(replaced, ignore_errors=True)
    _barrier(trainer)
    return final


def _save_own(trainer: Trainer, folder: Path) -> _Saved:
    """Saves the pieces that this rank is the first to have."""
    mesh, gradients = trainer.mesh, trainer.pipeline.gradients
    tensors, parts = {}, {}
    file = f"rank-{mesh.rank}.pt"
    for piece, master in trainer.optimizer.masters:
        is_first = gradients.is_sharded or mesh.replicas.index == 0
        if not is_first or not gradients.counted(piece.name, piece.parameter):
            continue
        tensors[piece.name] = {kind: _copy(trainer.optimizer.state(master, kind)) for kind in KINDS}
        parts[piece.name] = _part(piece.parameter, piece.start, piece.end, file)
    buffers = {}
    for stage in trainer.pipeline.stages.values() if mesh.replicas.index == 0 else ():
        for name, parameter in frozen_parameters(stage):
            if gradients.counted(name, parameter):
                tensors[name] = {"master": _copy(parameter.float().flatten())}
                parts[name] = _part(parameter, 0, parameter.numel(), file)
        if mesh.tp.index == 0:
            buffers.update({name: _copy(each) for name, each in stage.named_buffers()})
    files = {file: _write({"parameters": tensors, "buffers": buffers}, folder / file)} if tensors or buffers else {}
    parts |= {name: _Part(file, 0, each.numel(), 0, 1, None, tuple(each.shape)) for name, each in buffers.items()}
    return _Saved(parts, files)


def _write(state: dict[str, Any], file: Path) -> int:
    """Bytes of the file, which are on disk."""
    with file.open("wb") as out:
        torch.save(state, out)
        out.flush()
        os.fsync(out.fileno())
        return os.fstat(out.fileno()).st_size


def _copy(tensor: torch.Tensor) -> torch.Tensor:
    """On the CPU, with a storage of its own: that of a view is saved whole."""
    return tensor.detach().cpu().clone()


def _part(parameter: nn.Parameter, start: int, end: int, file: str) -> _Part:
    axis, is_cut = parameter.shard_axis, parameter.shard_dim is not None
    index, count = (axis.index, axis.size) if is_cut else (0, 1)
    return _Part(file, start, end, index, count, parameter.shard_dim, tuple(parameter.whole_shape))


def frozen_parameters(stage: nn.Module) -> Iterator[tuple[str, nn.Parameter]]:
    """Parameters without gradient, which no optimizer has."""
    return ((name, parameter) for name, parameter in stage.named_parameters() if not parameter.requires_grad)


def _write_index(trainer: Trainer, folder: Path, saved: list[_Saved]) -> None:
    names: dict[str, list[dict[str, Any]]] = {}
    for each in saved:
        for name, part in each.parts.items():
            names.setdefault(name, []).append(asdict(part))
    index = {
        "kind": "terapipe-torch-checkpoint",
        "version": VERSION,
        "step": trainer.next_step,
        "sequences": trainer.sequences,
        "lossScale": trainer.loss_scale.value,
        "goodSteps": trainer.loss_scale.good_steps,
        "optimizerSteps": trainer.optimizer.steps,
        "parameters": names,
        "files": {file: size for each in saved for file, size in each.files.items()},
        **trainer.state(),
    }
    with (folder / "index.json").open("w", encoding="utf-8") as out:
        json.dump(index, out)
        out.flush()
        os.fsync(out.fileno())
    _sync(folder)


def _sync(folder: Path) -> None:
    """The names in a folder to disk, where the system can."""
    if os.name == "posix":
        opened = os.open(folder, os.O_RDONLY)
        os.fsync(opened)
        os.close(opened)


def _barrier(trainer: Trainer) -> None:
    if trainer.mesh.world.group is not None:
        dist.barrier(group=trainer.mesh.world.group)


def newest_checkpoint(folder: str) -> Path:
    """The folder itself, or its whole step-N of the largest N. Raises RuntimeRefusal."""
    found = _newest(folder)
    if found is None:
        raise RuntimeRefusal(f"{folder} has no checkpoint (step-N) that is whole")
    return found


def is_unsaved(folder: str, save: str | None) -> bool:
    """
    Whether a run that saves into the folder it resumes from was ended before its first checkpoint was whole: it begins again. A damaged
    one is left for a person to look at.
    """
    root = Path(folder)
    if save is None or root.resolve() != Path(save).resolve() or _newest(folder) is not None:
        return False
    return not any((each / "index.json").exists() for each in [root, *root.glob("step-*")])


def _newest(folder: str) -> Path | None:
    root = Path(folder)
    if (root / "index.json").exists():
        return root
    steps = {int(match[1]): each for each in root.glob("step-*") if (match := re.fullmatch(r"step-(\d+)", each.name))}
    return next((steps[step] for step in sorted(steps, reverse=True) if _is_whole(steps[step])), None)


def _is_whole(path: Path) -> bool:
    """Whether the index can be read, and all files have the length that it lists."""
    try:
        index = json.loads((path / "index.json").read_text(encoding="utf-8"))
        return all((path / file).stat().st_size == size for file, size in index.get("files", {}).items())
    except (OSError, ValueError):
        return False


def load_checkpoint(trainer: Trainer, folder: str) -> None:
    """Continues from a checkpoint of any layout of the same model. Raises RuntimeRefusal."""
    path = newest_checkpoint(folder)
    checkpoint = _Checkpoint(path, trainer.plan.model.tied_embeddings)
    trainer.optimizer.steps = checkpoint.index["optimizerSteps"]
    for piece, master in trainer.optimizer.masters:
        whole = {kind: checkpoint.read(piece.name, piece.parameter, kind) for kind in KINDS}
        trainer.optimizer.set_state(master, {kind: each[piece.start : piece.end].to(master.device) for kind, each in whole.items()})
    for stage in trainer.pipeline.stages.values():
        for name, parameter in frozen_parameters(stage):
            parameter.data.copy_(checkpoint.read(name, parameter, "master").view_as(parameter))
        for name, buffer in stage.named_buffers():
            buffer.copy_(checkpoint.buffer(name))
    trainer.optimizer.publish()
    trainer.next_step, trainer.sequences = checkpoint.index["step"], checkpoint.index["sequences"]
    trainer.loss_scale.value, trainer.loss_scale.good_steps = checkpoint.index["lossScale"], checkpoint.index["goodSteps"]
    if trainer.source is not None:
        trainer.source.resume_at(trainer.next_step, trainer.sequences)


def read_index(path: Path) -> dict[str, Any]:
    """index.json of a checkpoint. Raises RuntimeRefusal."""
    try:
        index = json.loads((path / "index.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RuntimeRefusal(f"{path} is not a whole checkpoint: {error}") from error
    if index.get("version") != VERSION:
        raise RuntimeRefusal(f"{path} has version {index.get('version')}; this runtime reads {VERSION}")
    return index


class _Checkpoint:
    """A saved step; files are mapped when something of them is needed."""

    def __init__(self, path: Path, is_tied: bool) -> None:
        self.path, self.is_tied = path, is_tied
        self.index = read_index(path)
        self._files: dict[str, dict[str, Any]] = {}

    def read(self, name: str, parameter: nn.Parameter, kind: str) -> torch.Tensor:
        """All elements of a parameter of this rank, flat, whatever ranks saved them."""
        name = EMBEDDING if self.is_tied and name == HEAD else name
        whole = self._whole(name, kind)
        # the rows of a vocabulary depend on tp
        fixed = 1 if parameter.shard_dim == 0 else 0
        if whole.shape[fixed:] != torch.Size(parameter.whole_shape[fixed:]):
            raise RuntimeRefusal(f"{self.path} has {name} of shape {list(whole.shape)}, the model of {list(parameter.whole_shape)}")
        return shard_of(whole, parameter).flatten()

    def buffer(self, name: str) -> torch.Tensor:
        return self._file(self._parts(name)[0]["file"])["buffers"][name]

    def _whole(self, name: str, kind: str) -> torch.Tensor:
        parts = self._parts(name)
        first = parts[0]
        shards = []
        for index in range(first["count"]):
            own = sorted((part for part in parts if part["index"] == index), key=lambda part: part["start"])
            shards.append(torch.cat([self._file(part["file"])["parameters"][name][kind] for part in own]))
        shape = list(first["shape"])
        if first["dim"] is None:
            return shards[0].view(shape)
        shape[first["dim"]] //= first["count"]
        return torch.cat([shard.view(shape) for shard in shards], first["dim"])

    def _parts(self, name: str) -> list[dict[str, Any]]:
        if name not in self.index["parameters"]:
            raise RuntimeRefusal(f"{self.path} has no {name}: it is of another model")
        return self.index["parameters"][name]

    def _file(self, name: str) -> dict[str, Any]:
        if name not in self._files:
            try:
                self._files[name] = torch.load(self.path / name, map_location="cpu", mmap=True, weights_only=True)
            except (OSError, RuntimeError) as error:
                raise RuntimeRefusal(f"{self.path / name} cannot be read: {error}") from error
        return self._files[name]
