"""Dynamic scaling of the loss, so that gradients in fp16 neither vanish nor overflow."""

from __future__ import annotations

from terapipe_torch.errors import TrainingFailed

_first, _least, _growth_steps = 65536.0, 1.0, 2000


class LossScale:
    """`value` is 1 except in fp16: halved by a step whose gradients overflow, doubled after 2,000 steps without."""

    def __init__(self, precision: str) -> None:
        self.is_dynamic = precision == "fp16"
        self.value = _first if self.is_dynamic else 1.0
        self.good_steps = 0

    def grow(self) -> None:
        """After a step with finite gradients."""
        self.good_steps += 1
        if self.is_dynamic and self.good_steps % _growth_steps == 0:
            self.value *= 2

    def shrink(self, step: int, stages: list[int], loss: float) -> str:
        """After a step whose gradients are not finite in `stages`: a sentence on it. Raises TrainingFailed where no scale helps."""
        where = f"step {step}: gradients of stage{'s' if len(stages) > 1 else ''} {', '.join(map(str, stages))}"
        if not self.is_dynamic:
            raise TrainingFailed(f"{where} are not finite (loss {loss}): lower the learning rate or look at the data")
        if self.value <= _least:
            raise TrainingFailed(f"{where} overflow in fp16 even with a loss scale of {self.value:g}: train in bf16")
        self.value, self.good_steps = self.value / 2, 0
        return f"{where} overflow in fp16: the step is skipped, the loss scale is now {self.value:g}"
