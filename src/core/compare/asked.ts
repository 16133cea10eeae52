import type { Candidate, Plan } from '../planner/plan';

/** One thing that two plans were asked for, or chose, differently. */
export interface AskedDifference {
  /** As in terapipe.json (`training.recompute`), or `slices`, `microBatches`, `chunksPerStage` of what was chosen. */
  readonly key: string;
  readonly a: string;
  readonly b: string;
}

/** What differs between two plans in model, cluster, training, layout, schedule and slicing, as planned. */
export function askedDifferences(a: Plan, b: Plan, ofA: Candidate, ofB: Candidate): AskedDifference[] {
  const [left, right] = [askedOf(a, ofA), askedOf(b, ofB)];
  return [...new Set([...left.keys(), ...right.keys()])]
    .map((key) => ({ key, a: left.get(key) ?? '–', b: right.get(key) ?? '–' }))
    .filter((difference) => difference.a !== difference.b);
}

function askedOf({ request }: Plan, candidate: Candidate): Map<string, string> {
  const { model, cluster, training, layout, constants, calibration } = request;
  const { gpu, links, ...nodes } = cluster;
  const { name, gemmEfficiencyKnown: _known, source: _source, ...figures } = gpu;
  const { source: _linkSource, ...linkFigures } = links;
  const found = new Map<string, string>();
  add(found, 'model', model);
  found.set('cluster.gpu', name);
  add(found, 'cluster', nodes);
  add(found, 'cluster.gpu', figures);
  add(found, 'cluster.links', linkFigures);
  add(found, 'training', training);
  add(found, 'layout', layout);
  found.set('schedule', candidate.schedule);
  found.set('chunksPerStage', String(candidate.chunksPerStage));
  found.set('microBatches', String(candidate.scheme.length));
  found.set('slices', String(slicesOf(candidate)));
  add(found, 'cost', constants);
  if (calibration !== undefined) found.set('calibration.iterationMs', String(calibration.iterationMs));
  if (request.profile !== null) found.set('cost.profile', request.profile.file);
  return found;
}

/** Most slices that a sequence of a candidate is cut into. */
export function slicesOf({ scheme }: Candidate): number {
  return scheme.reduce((most, { tokens }) => Math.max(most, tokens.length), 0);
}

/** Every plain value under an object by its path; lists as they are. */
function add(found: Map<string, string>, path: string, value: unknown): void {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    for (const [key, inner] of Object.entries(value)) add(found, `${path}.${key}`, inner);
  else if (value !== undefined) found.set(path, Array.isArray(value) ? JSON.stringify(value) : String(value));
}
