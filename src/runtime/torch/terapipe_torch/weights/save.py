"""The model to a folder of safetensors: one file for each pipeline rank, tensor by tensor, and what Transformers needs to load them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.distributed as dist

from terapipe_torch.collectives import all_gather, all_gather_object
from terapipe_torch.errors import RuntimeRefusal
from terapipe_torch.mesh import Mesh
from terapipe_torch.model.spec import ModelSpec
from terapipe_torch.model.stage import HEAD, Stage
from terapipe_torch.weights.names import Naming, Source, naming_of, stored_shape
from terapipe_torch.weights.safetensors import INDEX, SINGLE, Planned, WeightFolder, write_tensors

# of the folder that the weights came from; config.json is written with the type of the weights
_copied = (
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "tokenizer.model",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template.jinja",
    "vocab.json",
    "merges.txt",
)


@dataclass(frozen=True)
class _Part:
    """A parameter or buffer of a stage, and where it lies in a file."""

    tensor: torch.Tensor
    source: Source
    shape: tuple[int, ...]


def save_weights(stages: Iterable[Stage], spec: ModelSpec, mesh: Mesh, folder: str, origin: str | None = None) -> None:
    """
    Writes the weights of all stages. Every rank calls it with its own; the first replica writes. `origin`:
    folder that the weights came from, whose config.json and tokenizer are copied. Raises RuntimeRefusal.
    """
    target = Path(folder)
    config = WeightFolder(origin).config() if origin is not None else {}
    if origin is not None and target.exists() and target.samefile(origin):
        raise RuntimeRefusal(f"{folder} holds the weights that training started from: save to another folder")
    groups = _groups(stages, spec, naming_of(str(config.get("model_type", spec.model_type))))
    planned = [_planned(name, parts) for name, parts in groups.items()]
    file = SINGLE if mesh.pp.size == 1 else f"model-{mesh.pp.index + 1:05d}-of-{mesh.pp.size:05d}.safetensors"
    mine = None
    if mesh.dp.index == 0 and mesh.cp.index == 0:
        try:
            target.mkdir(parents=True, exist_ok=True)
            _write(target / file, planned, _tensors(groups.values(), mesh), mesh)
        except OSError as error:
            raise RuntimeRefusal(f"{folder} cannot be written: {error}") from error
        mine = [(each.name, file, each.bytes) for each in planned] if mesh.tp.index == 0 else None
    written = [each for part in all_gather_object(mine, mesh.world) if part is not None for each in part]
    if mesh.rank == 0:
        _write_index(target, written)
        if origin is not None:
            _write_config(target, config, Path(origin), planned[0].dtype)
    if mesh.world.group is not None:
        dist.barrier(group=mesh.world.group)


def _groups(stages: Iterable[Stage], spec: ModelSpec, naming: Naming) -> dict[str, list[_Part]]:
    """By tensor of the file, the parts that it joins, in their order. A tied head is in the file of the embedding only."""
    groups: dict[str, list[_Part]] = {}
    for stage in stages:
        for name, tensor in (*stage.named_parameters(), *stage.named_buffers()):
            if spec.tied_embeddings and name == HEAD:
                continue
            source = naming(spec, name)
            groups.setdefault(source.name, []).append(_Part(tensor, source, stored_shape(spec, name, tensor)))
    for parts in groups.values():
        parts.sort(key=lambda part: part.source.rows or (0, 0))
    return groups


def _planned(name: str, parts: list[_Part]) -> Planned:
    first = parts[0]
    shape = (sum(part.shape[0] for part in parts), *first.shape[1:])
    return Planned(name, first.tensor.dtype, shape[::-1] if first.source.transposed else shape)


def _tensors(groups: Iterable[list[_Part]], mesh: Mesh) -> Iterator[torch.Tensor]:
    """The tensors of a file one by one: all tp ranks must take them in the same order."""
    for parts in groups:
        joined = torch.cat([_whole(part, mesh) for part in parts]) if len(parts) > 1 else _whole(parts[0], mesh)
        yield joined.t() if parts[0].source.transposed else joined


def _whole(part: _Part, mesh: Mesh) -> torch.Tensor:
    tensor, dim = part.tensor.detach(), getattr(part.tensor, "shard_dim", None)
    whole = tensor if dim is None else all_gather(tensor, mesh.tp, dim)
    return whole[: part.shape[0]]


def _write(path: Path, planned: list[Planned], tensors: Iterator[torch.Tensor], mesh: Mesh) -> None:
    if mesh.tp.index == 0:
        write_tensors(path, planned, tensors)
        return
    for _ in tensors:
        pass


def _write_index(target: Path, written: list[tuple[str, str, int]]) -> None:
    """The index where there are several files. What an earlier save of another layout left would be loaded instead."""
    files = {name: file for name, file, _ in written}
    if set(files.values()) == {SINGLE}:
        (target / INDEX).unlink(missing_ok=True)
        return
    index = {"metadata": {"total_size": sum(size for _, _, size in written)}, "weight_map": files}
    (target / INDEX).write_text(json.dumps(index, indent=2) + "\n", encoding="utf-8")
    (target / SINGLE).unlink(missing_ok=True)


def _write_config(target: Path, config: dict[str, object], origin: Path, dtype: torch.dtype) -> None:
    key = "torch_dtype" if "torch_dtype" in config else "dtype"
    text = json.dumps({**config, key: str(dtype).removeprefix("torch.")}, indent=2)
    (target / "config.json").write_text(text + "\n", encoding="utf-8")
    for name in _copied:
        if (origin / name).is_file():
            shutil.copyfile(origin / name, target / name)
