import { changeJson } from '../terapipe/change-json';
import type { Run } from '../run/run';
import type { Finding, Fix, Severity, TextEdit } from '../findings';
import type { Located, Place } from '../domain/located';
import { own } from '../records';

/** A setting of terapipe.json by its dotted key (`layout.tensor`, `schedule`), as located in a run; undefined when nothing gives it. */
export function settingAt(run: Run, key: string): Located<unknown> | undefined {
  const [section = '', name = ''] = key.split('.');
  switch (section) {
    case 'layout':
    case 'training':
    case 'model':
      return entry(run[section], name);
    case 'cost':
      return name === 'table' ? run.costTable : entry(run.constants, name);
    case 'slicing':
      return name === 'unit' ? run.unit : run.scheme;
    case 'schedule':
      return run.schedule;
    case 'cluster':
      return clusterSetting(run, name);
    default:
      return undefined;
  }
}

/** Where a setting is, or where remarks on the whole run go when no file gives it. */
function placeOfSetting(run: Run, key: string): Place {
  const source = settingAt(run, key)?.source;
  return source?.kind === 'file' ? source.place : run.place;
}

/**
 * The edits that give a setting a value (null: remove it) in the terapipe.json of a run, comments and layout kept; null when there is no
 * such file, the value was given on the command line and an edit would change nothing, or it is part of a list of groups.
 */
export function settingEdits(run: Run, key: string, value: string | number | boolean | null): readonly TextEdit[] | null {
  return settingsEdits(run, [[key, value]]);
}

/** The same for several settings at once. */
export function settingsEdits(
  run: Run,
  sets: readonly (readonly [key: string, value: string | number | boolean | readonly string[] | null])[],
): readonly TextEdit[] | null {
  const text = run.texts?.get(run.file);
  if (run.format !== 'terapipe' || text === undefined) return null;
  for (const [key] of sets) {
    const source = settingAt(run, key)?.source;
    const isOfGroups =
      (source?.kind === 'file' && source.key === 'cluster.groups') || (run.groups !== undefined && key.startsWith('cluster.'));
    if (source?.kind === 'override' || isOfGroups) return null;
  }
  const change = changeJson(
    text,
    sets.map(([key, value]) => ({ path: key.split('.'), value: value ?? undefined })),
  );
  return change === null ? null : [{ place: { file: run.file, range: { start: change.start, end: change.end } }, newText: change.newText }];
}

/** A finding at the place of a setting. The remedy is what to do; each candidate value becomes a quick fix, the first one preferred. */
export function findingAt(
  run: Run,
  key: string,
  code: string,
  severity: Severity,
  texts: Pick<Finding, 'message' | 'remedy'>,
  fixes: readonly Fix[] = [],
): Finding {
  return { code, severity, place: placeOfSetting(run, key), ...texts, fixes };
}

function entry(given: object, name: string): Located<unknown> | undefined {
  return own(given as Readonly<Record<string, Located<unknown>>>, name);
}

function clusterSetting(run: Run, name: string): Located<unknown> | undefined {
  const settings: Readonly<Record<string, Located<unknown> | undefined>> = {
    instance: run.instance,
    gpu: run.gpu,
    links: run.links,
    nodes: run.nodes,
    gpusPerNode: run.gpusPerNode,
    groups: run.groups,
  };
  return own(settings, name);
}
