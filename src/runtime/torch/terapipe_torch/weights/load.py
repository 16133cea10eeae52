"""A stage's parameters from a folder of safetensors: of each tensor this rank's part only."""

from __future__ import annotations

import torch

from terapipe_torch.errors import RuntimeRefusal
from terapipe_torch.model.spec import ModelSpec
from terapipe_torch.model.stage import Stage, shard_of
from terapipe_torch.plan import Plan
from terapipe_torch.weights.names import Source, is_ignored, layer_in, naming_of, stored_shape
from terapipe_torch.weights.safetensors import WeightFolder


class Weights:
    """A folder in Hugging Face's format. `family`: model_type of its config.json, or of the plan where there is none."""

    def __init__(self, folder: str, spec: ModelSpec) -> None:
        self.files, self.spec = WeightFolder(folder), spec
        self.family = str(self.files.config().get("model_type", spec.model_type))
        self._naming = naming_of(self.family)

    def load(self, stage: Stage) -> None:
        """Fills all parameters and buffers of a stage. Raises RuntimeRefusal for a tensor that is missing, unknown or of another shape."""
        known = set()
        with torch.no_grad():
            for name, tensor in (*stage.named_parameters(), *stage.named_buffers()):
                source = self._naming(self.spec, name)
                known.add(self._stored(source.name))
                tensor.copy_(shard_of(self._whole(source, stored_shape(self.spec, name, tensor)), tensor))
        self._refuse_unknown(stage, known)

    def _whole(self, source: Source, shape: tuple[int, ...]) -> torch.Tensor:
        """A view of the file: the parameter, not cut for tp."""
        whole = self.files.read(self._stored(source.name))
        if source.transposed:
            whole = whole.t()
        if source.rows is None:
            return self._checked(source, whole, shape)
        start, total = source.rows
        return self._checked(source, whole, (total, *shape[1:]))[start : start + shape[0]]

    def _checked(self, source: Source, whole: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
        if tuple(whole.shape) != shape:
            found = f"{source.name} in {self.files.folder} has shape {list(whole.shape)}"
            raise RuntimeRefusal(f"{found}, in the plan's model {list(shape)}")
        return whole

    def _stored(self, name: str) -> str:
        """The name in the files: those of a model without head have no prefix."""
        bare = name.partition(".")[2]
        if name in self.files:
            return name
        if bare in self.files:
            return bare
        raise RuntimeRefusal(f"{self.files.folder} has no tensor {name}, which the plan's model has")

    def _refuse_unknown(self, stage: Stage, known: set[str]) -> None:
        """
        What the files have of these layers, or of layers that the model does not have, would be left out of
        training. Transformers leaves out the layers of multi-token prediction, too.
        """
        layers = self.spec.layers + int(self.files.config().get("num_nextn_predict_layers") or 0)
        for name in self.files.names:
            layer = layer_in(name)
            mine = layer is not None and (str(layer) in stage.layers or layer >= layers)
            if mine and name not in known and not is_ignored(name):
                raise RuntimeRefusal(f"{name} in {self.files.folder} belongs to no layer of the plan's model")


def fill(stage: Stage, plan: Plan, weights: Weights | None) -> None:
    """The stage's weights from a folder, or drawn from the plan's seed."""
    if weights is None:
        stage.initialise(plan.training.seed)
    else:
        weights.load(stage)
