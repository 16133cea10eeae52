import { clusterText } from '../../../core/cluster/groups';
import type { Candidate, Plan } from '../../../core/planner/plan';
import { evenStageContents } from '../../../core/partition/stages';
import { say } from '../../../core/sentence';

/** One thing that two plans were asked for, or chose, differently. */
export interface RequestDifference {
  /** As in terapipe.json (`training.recompute`), or `slices`, `microBatches`, `chunksPerStage` of what was chosen. */
  readonly key: string;
  readonly a: string;
  readonly b: string;
}

/**
 * What differs between two plans in model, cluster, training, layout, schedule and slicing, as planned. Between a cluster of one kind of
 * node and one of several, the figures are not listed one by one.
 */
export function requestDifferences(a: Plan, b: Plan, ofA: Candidate, ofB: Candidate): RequestDifference[] {
  const [left, right] = [requestValues(a, ofA), requestValues(b, ofB)];
  const isOneMixed = (a.request.cluster.groups === undefined) !== (b.request.cluster.groups === undefined);
  return [...new Set([...left.keys(), ...right.keys()])]
    .filter((key) => !isOneMixed || !key.startsWith('cluster.') || key === 'cluster.gpu')
    .map((key) => ({ key, a: left.get(key) ?? '–', b: right.get(key) ?? '–' }))
    .filter((difference) => difference.a !== difference.b);
}

/** Keys that are not compared: sources of figures, and what neither time nor memory depends on. */
const unreported = /^(cluster\.(groups\[\d+\]\.)?(gpu\.source|gpu\.gemmEfficiencyKnown|links\.source)|model\.(normEpsilon|details\.\w+))$/u;

function requestValues({ request }: Plan, candidate: Candidate): Map<string, string> {
  const { model, cluster, training, layout, constants, calibration, profile } = request;
  const found = new Map<string, string>();
  add(found, 'model', model);
  if (cluster.groups === undefined) add(found, 'cluster', cluster);
  else {
    found.set('cluster.gpu', say(clusterText(cluster)));
    cluster.groups.forEach((group, index) => add(found, `cluster.groups[${index}]`, group));
  }
  add(found, 'training', training);
  add(found, 'layout', layout);
  found.set('schedule', candidate.schedule);
  found.set('chunksPerStage', String(candidate.chunksPerStage));
  found.set('microBatches', String(candidate.scheme.length));
  found.set('slices', String(mostSlices(candidate)));
  add(found, 'cost', constants);
  if (calibration !== undefined && calibration.iterationMs !== null) found.set('calibration.iterationMs', String(calibration.iterationMs));
  if (profile !== null) found.set('cost.profile', profile.file);
  for (const key of found.keys()) if (unreported.test(key)) found.delete(key);
  if (model.experts === null) for (const key of ['layout.expert', 'layout.expertTensor']) found.delete(key);
  if (isEven(request)) found.delete('layout.stageLayers');
  return found;
}

/** Whether a layout cuts the layers as the default would. */
function isEven({ model, layout: { stageLayers } }: Plan['request']): boolean {
  if (stageLayers === undefined) return true;
  const even = evenStageContents(model.layers, stageLayers.length).map(({ layers }) => layers);
  return stageLayers.every((layers, stage) => layers === even[stage]);
}

/** Most slices that a sequence of a candidate is cut into. */
function mostSlices({ scheme }: Candidate): number {
  return scheme.reduce((most, { tokens }) => Math.max(most, tokens.length), 0);
}

/** Every plain value under an object by its path; the items of lists after each other. */
function add(found: Map<string, string>, path: string, value: unknown): void {
  if (value === undefined) return;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) found.set(path.replace(/\.name$/, ''), valueText(value));
  else for (const [key, inner] of Object.entries(value)) add(found, `${path}.${key}`, inner);
}

function valueText(value: unknown): string {
  if (Array.isArray(value)) return value.map(valueText).join(', ');
  return typeof value === 'string' ? value : JSON.stringify(value);
}
