import { sum } from '../../numbers';

/** The pattern that gives every stage so many layers, with `mtpLayers` of multi-token prediction before the loss. */
export function patternOf(stageLayers: readonly number[], mtpLayers = 0): string {
  const last = stageLayers.length - 1;
  const run = (letter: string, count: number): string => (count === 0 ? '' : count === 1 ? letter : `${letter}*${count}`);
  return stageLayers
    .map((layers, stage) => (stage === 0 ? 'E' : '') + run('t', layers) + (stage === last ? `${run('m', mtpLayers)}L` : ''))
    .join('|');
}

/** The layers that begin each stage but the first, as `pipeline_parallel_split_points` lists them (torchtitan 2024). */
export function splitPoints(stageLayers: readonly number[]): readonly string[] {
  return stageLayers.slice(1).map((_, stage) => `layers.${sum(stageLayers.slice(0, stage + 1))}`);
}

/** The modules of each stage, as `module_fqns_per_model_part` lists them (torchtitan 2025-07). */
export function moduleNames(stageLayers: readonly number[]): readonly (readonly string[])[] {
  const last = stageLayers.length - 1;
  return stageLayers.map((count, stage) => [
    ...(stage === 0 ? ['tok_embeddings'] : []),
    ...Array.from({ length: count }, (_, layer) => `layers.${sum(stageLayers.slice(0, stage)) + layer}`),
    ...(stage === last ? ['norm', 'output'] : []),
  ]);
}

/** Whether two cuts have the same stages with the same layers; null is no cut. */
export function isSame(a: readonly number[] | null, b: readonly number[]): boolean {
  return a?.length === b.length && a.every((count, index) => count === b[index]);
}
