import { elementBytes } from '../domain/number-formats';
import { hasAttention, layerStateMixer } from '../model/mixers';
import { attentionWidths, expertInput, layerExperts, expertTensorSize, feedForwardWidth } from '../model/parameters';
import { attentionHeads } from '../model/stacks';
import type { LayerKind } from '../domain/model';
import type { WorkUnit } from '../schedules/schedule';
import { hiddenShare, localTokens, scoreBytes, stackUnit, visits } from './unit-sizes';
import type { MemoryInputs } from '../domain/request';
import { isEager } from './plain-modules';
import { stateSaved } from './ssm-tensors';

/**
 * Kept by a layer under TorchTitan's op-level recompute (`selective_ac_option = "op"`: torchtitan/parallelisms/parallelize_llama.py at
 * 3f20451): its input and the outputs of attention, of every second product (of wq, wk, wv, wo, w1, w3, w2: wq, wv, w1 and w2) and of what
 * scatters over tensor-parallel ranks. `torch.compile` drops what backward does not read: what ends the layer. Of experts, which wgrad
 * reads the same way, the rows as they come and w1's output.
 */
export function operationSavedBytes(inputs: MemoryInputs, source: WorkUnit, kind: LayerKind): number {
  const { model, training, layout } = inputs;
  const unit = stackUnit(inputs, source, kind);
  const element = elementBytes(training);
  const share = hiddenShare(inputs);
  const state = layerStateMixer(model, kind);
  const attended = hasAttention(kind);
  const { query, value, output } = attentionWidths(model, layout.tensor);
  const ends = isEager(inputs) ? 1 : 0;
  const scattered = layout.tensor > 1 ? share * (Number(attended) + ends) : 0;
  const experts = layerExperts(model, kind);
  const width =
    experts === null
      ? feedForwardWidth(model, kind) / layout.tensor
      : visits(inputs, experts.active).rows * (expertInput(model, experts) + model.ffn / expertTensorSize(layout)) +
        (experts.sharedFfn ?? 0) / layout.tensor;
  const last = model.gatedMlp && kind.feedForward !== 'none' ? ends * model.hidden : 0;
  const elements = model.hidden * (share + scattered) + (attended ? query + value + output : 0) + width + last;
  const logSumExp = attended && training.attention === 'flash' ? (4 * attentionHeads(model, kind).heads) / layout.tensor : 0;
  const scores = attended ? scoreBytes(inputs, kind, unit, unit.tokens + unit.context) : 0;
  return localTokens(inputs, unit) * (element * elements + logSumExp + (state === null ? 0 : stateSaved(inputs, state))) + scores;
}
