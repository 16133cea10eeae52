import { byDefault } from '../../domain/located';
import type { Facts } from '../../run/facts';
import { sentence } from '../../sentence';

/**
 * Before granularities, `--checkpoint-activations` and a method by itself recomputed whole layers (bigscience, megatron/arguments.py 512).
 */
export function wholeRecompute({ recomputeGranularity, recomputeMethod }: Facts): Facts {
  if (/^--checkpoint[-_]activations$/.test(recomputeGranularity?.name ?? ''))
    return recomputeMethod === undefined
      ? { recomputeMethod: byDefault('uniform', sentence`--checkpoint-activations needs no other flag`) }
      : {};
  const isOld = /^--activations[-_]checkpoint[-_]method$/.test(recomputeMethod?.name ?? '');
  return recomputeGranularity === undefined && isOld
    ? { recomputeGranularity: byDefault('full', sentence`--activations-checkpoint-method by itself recomputes whole layers`) }
    : {};
}

/** Layers that are assigned to stages but not built are not the model's (mindspeed/core/pipeline_parallel/noop_layers/transformer.py). */
export function emptied({ layers, emptyLayers, firstDenseLayers, moeLayerFrequency }: Facts): Facts {
  const frequency: Facts =
    firstDenseLayers !== undefined && moeLayerFrequency?.value === '-1' ? { moeLayerFrequency: { ...moeLayerFrequency, value: '1' } } : {};
  if (layers === undefined || emptyLayers === undefined) return frequency;
  const empty = new Set(emptyLayers.value.filter((layer) => layer < layers.value)).size;
  return { ...frequency, layers: { ...layers, value: layers.value - empty } };
}

/** YaLM pads the width of its feed-forward networks to the tensor size (megatron_lm/megatron/arguments.py 60 to 67). */
export function paddedWidth({ ffn, tensor }: Facts): Facts {
  if (ffn === undefined || tensor === undefined || !/^--intermediate[-_]size$/.test(ffn.name ?? '')) return {};
  return { ffn: { ...ffn, value: tensor.value * Math.ceil(ffn.value / tensor.value) } };
}

/** Where embeddings are assigned too, each counts as a layer. */
export function partitioned({ partitionMethod }: Facts): Facts {
  if (partitionMethod === undefined || !/embedding/i.test(partitionMethod.value)) return {};
  const counted = byDefault(true, sentence`${partitionMethod.name ?? ''} counts embeddings as layers`);
  return { embeddingAsLayer: counted, lossAsLayer: counted };
}
