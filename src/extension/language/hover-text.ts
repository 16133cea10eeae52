import type { HoverText } from './explanation';
import { findNodeAtOffset, parseTree, type Node } from 'jsonc-parser';
import { settingOfKey } from '../../core/domain/settings/table';
import type { Assumption } from '../../core/domain/request';
import type { TextRange } from '../../core/domain/located';
import { explanationFor, scenarioLines } from './explanations';
import { launcherHover } from './launcher-hover';
import { locatedValues } from '../../host/pages/page-state';
import { scheduleHover } from './schedule-text';
import type { PrefillSession } from '../../features/prefill/host/prefills';
import { servedLines } from '../../features/prefill/host/shown';
import type { SessionState } from '../../host/sessions/session-state';
import { say, type Translate } from '../../core/sentence';

/**
 * What to show for the value (or its key) at an offset of a config's text. Null where nothing is known, and while the text is newer than
 * what was planned. @param state with what is known of a prompt.
 */
export function hoverAt(
  state: SessionState & { readonly prefill?: PrefillSession | null },
  file: string,
  text: string,
  offset: number,
  t: Translate,
): HoverText | null {
  const { run, launcher } = state;
  if (state.texts.get(file) !== text) return null;
  if (state.format === 'pytorch-schedule') return scheduleHover(state, text, offset, t);
  if (launcher?.file === file) return launcherHover(state, launcher, offset, t);
  if (run === null) return null;
  const tree = parseTree(text);
  const property = tree === undefined ? null : propertyAt(tree, offset);
  if (property === null) return null;
  const { value, path } = property;
  const range = { start: value.offset, end: value.offset + value.length };
  const found = locatedValues(run).find(
    ([, { source }]) =>
      source.kind === 'file' &&
      source.place.file === file &&
      source.place.range.start >= range.start &&
      source.place.range.end <= range.end,
  );
  const isWhole = value.type === 'object' || path.join('.') === 'model';
  if (found === undefined || isWhole) return sectionHover(state, path, property.range, t);
  const [key, located] = found;
  const explanation = explanationFor(key);
  if (explanation === undefined) return null;
  const plan = state.staleEdits === 0 ? state.plan : null;
  const elastic = state.staleEdits === 0 && state.elastic !== null ? state.elastic.plan : null;
  const derived = plan === null ? [] : (explanation.derived?.(plan, t) ?? []);
  const frozen = elastic === null ? [] : (explanation.elastic?.(elastic, t) ?? []);
  const served = key === 'model.maxPositions' && state.prefill?.run === run ? servedLines(state.prefill.answer, t) : [];
  const written = `${path.join('.')}: ${valueText(located.value)}`;
  const lines = [...derived, ...frozen, ...served, ...scenarioLines(plan, t)];
  // VS Code shows the schema's text on a setting in the same hover; on other keys ours has more
  if (hasSchema.test(file) && settingOfKey(key) !== null) return { range: property.range, title: written, lines };
  return { range: property.range, title: explanation.meaning(t), lines: [written, ...lines] };
}

/** Files for which package.json names the schema of terapipe.json. */
const hasSchema = /(^|[/.])terapipe\.json$/;

/** A whole section (`"training": {...}`, or `"model": "config.json"`): what it leaves out and what was taken instead. */
function sectionHover(
  { plan, elastic, staleEdits }: SessionState,
  path: readonly string[],
  range: TextRange,
  t: Translate,
): HoverText | null {
  const [section] = path;
  const request = section === 'elastic' ? elastic?.plan.request : (plan?.request ?? elastic?.plan.request);
  if (request === undefined || staleEdits > 0 || path.length !== 1 || section === undefined) return null;
  const assumed = request.assumptions.filter(({ key }) => key.startsWith(`${section}.`));
  if (assumed.length === 0) return null;
  return { range, title: t('{0}: not set by any file', section), lines: assumed.map((assumption) => assumptionText(assumption, t)) };
}

function assumptionText({ key, value, reason }: Assumption, t: Translate): string {
  return t('{0} {1}: {2}', key.slice(key.indexOf('.') + 1), value, say(reason, t));
}

interface Property {
  readonly path: readonly string[];
  /** Key and value together. */
  readonly range: TextRange;
  readonly value: Node;
}

/** The innermost property whose key or value holds the offset; inside a list the list's property. */
function propertyAt(tree: Node, offset: number): Property | null {
  let node = findNodeAtOffset(tree, offset, true);
  while (node !== undefined && node.type !== 'property') node = node.parent;
  const value = node?.children?.[1];
  if (node === undefined || value === undefined) return null;
  const path: string[] = [];
  for (let at: Node | undefined = node; at !== undefined; at = at.parent)
    if (at.type === 'property') path.unshift(String(at.children?.[0]?.value));
  return { path, range: { start: node.offset, end: node.offset + node.length }, value };
}

function valueText(value: unknown): string {
  if (typeof value === 'object' && value !== null) return 'name' in value && typeof value.name === 'string' ? value.name : '…';
  return String(value);
}
