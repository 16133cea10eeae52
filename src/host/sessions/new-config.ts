import type { Run } from '../../core/run/run';
import { toModelSpec } from '../../core/run/written-model';
import type { ResolveDefaults } from '../../core/plan-request/scenario';
import { sequenceLengths } from '../../core/plan-request/sequence-lengths';
import { gpuPresets } from '../../core/cluster/presets';
import { printable } from '../../core/text';

/**
 * A first `terapipe.json` for a model config, to be edited: the cluster of the settings, the training's lengths, and in comments what the
 * planner chooses while it is left out.
 * @param modelFile name of the model config, in the same folder.
 * @param run null when it could not be read.
 */
export function newConfigText(modelFile: string, run: Pick<Run, 'model' | 'traits'> | null, defaults: ResolveDefaults): string {
  const lengths =
    run === null ? { sequenceLength: 4096 } : sequenceLengths({}, toModelSpec(run.model, run.traits), (_, __, usual) => usual().value);
  const training = Object.entries(lengths).map(([key, tokens]) => `    "${key}": ${tokens},`);
  const { gpu } = defaults;
  const nodes = defaults.nodes ?? 1;
  const gpusPerNode = defaults.gpusPerNode ?? gpuPresets[gpu].gpusPerNode;
  return `// How ${printable(modelFile)} is trained, and on what. TeraPipe chooses whatever is left out, and shows its choices with the plan.
{
  "model": ${JSON.stringify(modelFile)},
  "cluster": { "gpu": ${JSON.stringify(gpu)}, "nodes": ${nodes}, "gpusPerNode": ${gpusPerNode} },

  // Sizes of the parallel groups; their product is the number of GPUs. If left out, the planner assumes a fast layout that fits.
  // "layout": { "tensor": ${gpusPerNode}, "pipeline": 1, "data": ${nodes} },

  // If left out, the planner takes the fastest schedule that fits; of those within 5 %, the one with the least memory. "TeraPipe" cuts
  // sequences into token slices, "1F1B" does not.
  // "schedule": "TeraPipe",

  "training": {
    // Sequences of one step, over all replicas. Left out: 16,384 tokens a GPU, at least one sequence.
    // "globalBatch": 256,
${training.join('\n')}
    "recompute": "none"
  }
}
`;
}
