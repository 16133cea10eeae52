import { workOf, type SliceWork } from '../../slicing/chunk-rules';
import type { ModelSpec } from '../../domain/model';

/** Arithmetic of a slice as Seq1F1B counts it; a gated feed-forward has half as much again, and a token visits only the active experts. */
export function sliceWork(model: ModelSpec): SliceWork {
  return workOf({ ...model, ffn: model.ffn * (model.gatedMlp ? 1.5 : 1) * (model.experts?.active ?? 1) });
}
