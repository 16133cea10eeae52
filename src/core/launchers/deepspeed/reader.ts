import { ExpectedError } from '../../errors';
import type { Finding } from '../../findings';
import type { Place, TextRange } from '../../domain/located';
import { quoted } from '../../text';
import type { FactName, Facts, LauncherFile } from '../../run/facts';
import { firstPlace, type Setting, type Settings } from '../tables/values';
import { parseDocument, type JsonDocument, describeNode, readMembers, nodePlace, type Member } from '../../languages/json/document';
import { deepspeedKeys, precisionSwitches } from './settings';
import { factNamed, factsOfSettings } from '../tables/table';
import { settingsOfKeys } from '../tables/written-settings';
import type { WrittenSetting } from '../../run/run-settings';
import { fillTemplate, placeholderIn } from '../../languages/json/template';
import { sentence } from '../../sentence';
import type { Node } from 'jsonc-parser';

/** Settings of DeepSpeed are at most three levels down. */
const maximumPath = 5;

/**
 * Every member of a JSON document by its dotted name, objects included (without a value).
 * @throws ExpectedError `config-duplicate-key` or `config-forbidden-key`, placed; DeepSpeed refuses duplicates too.
 */
function settingsOfJson(document: JsonDocument): ReadonlyMap<string, JsonSetting> {
  const settings = new Map<string, JsonSetting>();
  addMembers(document, document.root, [], settings);
  return settings;
}

type JsonSetting = Setting & { readonly node: Node };

function addMembers(document: JsonDocument, object: Node, prefix: readonly string[], settings: Map<string, JsonSetting>): void {
  const members = [...readMembers(document, object, prefix.at(-1) ?? 'the file').values()];
  for (const [index, { name, value }] of members.entries()) {
    const path = [...prefix, name];
    if (path.length > maximumPath || name.includes('.')) continue;
    const dotted = path.join('.');
    const whole = memberCutRange(object, members[index - 1], members[index], members[index + 1]);
    const described = describeNode(document, value);
    settings.set(dotted, { name: dotted, value: plain(value), described, place: nodePlace(document, value), whole, node: value });
    if (value.type === 'object') addMembers(document, value, path, settings);
  }
}

/** A member with one of its commas; the last one goes with everything between the braces. */
function memberCutRange(object: Node, previous: Member | undefined, own: Member | undefined, next: Member | undefined): TextRange {
  const inside = { start: object.offset + 1, end: object.offset + object.length - 1 };
  if (own === undefined) return inside;
  if (next !== undefined) return { start: own.key.offset, end: next.key.offset };
  return previous === undefined ? inside : { start: nodeEnd(previous.value), end: nodeEnd(own.value) };
}

function nodeEnd(node: Node): number {
  return node.offset + node.length;
}

function plain(node: Node): unknown {
  if (node.type === 'array') return (node.children ?? []).map(plain);
  return node.type === 'object' || node.type === 'property' ? undefined : node.value;
}

/** A setting that a template leaves open. */
interface OpenSetting {
  readonly name: string;
  /** The fact it would fill; absent for settings that do not change a run's layout. */
  readonly fact?: FactName;
  /** `BATCH` of `${BATCH:-8}`, and the whole of it. */
  readonly placeholder: string;
  readonly written: string;
  readonly place: Place;
  readonly whole: TextRange;
}

/** What one DeepSpeed JSON sets, wherever its text is. */
interface DeepSpeedFacts {
  readonly facts: Facts;
  readonly remarks: readonly Finding[];
  /** Names, each once, in alphabetical order. */
  readonly placeholders: readonly string[];
  readonly open: readonly OpenSetting[];
  /** Whether Python's json module would read the text as it is. */
  readonly validJson: boolean;
  readonly written: readonly WrittenSetting[];
}

/**
 * What a DeepSpeed config file, or a template of one, sets for a run. `"auto"` is unset.
 * Values that cannot be are remarks of severity error at the value, and no facts.
 * @throws ExpectedError for text that is not JSON even with its placeholders filled; see `parseDocument` and `readMembers`.
 */
export function readDeepSpeed(file: string, text: string): LauncherFile {
  const { facts, remarks, placeholders, written: settings } = readEmbeddedDeepSpeed(text, file, 0);
  const written = { names: 'deepspeed', settings } as const;
  return { file, format: 'deepspeed', text, place: firstPlace(file, facts), facts, remarks, modelFiles: [], placeholders, written };
}

/**
 * The same for a text that is at `offset` of a file: the body of a here-document. All places are places of the file.
 * @throws ExpectedError as `readDeepSpeed`.
 */
export function readEmbeddedDeepSpeed(text: string, file: string, offset: number): DeepSpeedFacts {
  try {
    return readDeepSpeedFacts(text, file, offset);
  } catch (error) {
    if (!(error instanceof ExpectedError) || error.place === undefined) throw error;
    const place = { file, range: shifted(error.place.range, offset) };
    throw new ExpectedError(error.code, error.what, error.remedy, place);
  }
}

function readDeepSpeedFacts(text: string, file: string, offset: number): DeepSpeedFacts {
  const template = fillTemplate(text);
  const { document, broken } = parsed(file, template.text);
  const settings = new Map<string, Setting>();
  const open: OpenSetting[] = [];
  for (const { node, ...setting } of settingsOfJson(document).values()) {
    const moved = { ...setting, place: { file, range: shifted(setting.place.range, offset) }, whole: shifted(setting.whole, offset) };
    const bare = template.placeholders.get(node.offset);
    const name = bare?.name ?? (typeof node.value === 'string' ? placeholderIn(node.value) : null);
    if (name !== null) open.push(openSetting(moved, name, bare?.written ?? String(node.value)));
    else if (node.value !== 'auto' && node.type !== 'null') settings.set(setting.name, moved);
  }
  const { facts, remarks } = factsOfSettings(deepspeedKeys, settings);
  const names = [...open.map(({ placeholder }) => placeholder), ...[...template.placeholders.values()].map(({ name }) => name)];
  const lenient = broken === null ? [] : [lenientRemark(broken, file, offset)];
  return {
    facts,
    remarks: [...lenient, ...remarks, ...precisionRemarks(settings), ...openRemarks(open)],
    placeholders: [...new Set(names)].sort(),
    open,
    validJson: template.placeholders.size === 0 && broken === null,
    written: settingsOfKeys(settings, (name) => factNamed(deepspeedKeys, name) !== undefined),
  };
}

/** DeepSpeed itself reads with hjson, which takes comments and trailing commas; Transformers and Accelerate do not. */
function parsed(file: string, text: string): { readonly document: JsonDocument; readonly broken: ExpectedError | null } {
  try {
    return { document: parseDocument(file, text, 'json'), broken: null };
  } catch (error) {
    if (!(error instanceof ExpectedError) || error.code !== 'config-json-syntax') throw error;
    return { document: parsedWithComments(file, text, error), broken: error };
  }
}

function parsedWithComments(file: string, text: string, strict: ExpectedError): JsonDocument {
  try {
    return parseDocument(file, text, 'jsonc');
  } catch (error) {
    throw error instanceof ExpectedError && error.code !== 'config-json-syntax' ? error : strict;
  }
}

function lenientRemark({ what, place }: ExpectedError, file: string, offset: number): Finding {
  return {
    code: 'config-json-syntax',
    severity: 'warning',
    place: { file, range: shifted(place?.range ?? { start: 0, end: 0 }, offset) },
    message: sentence`${what}; DeepSpeed reads the file, Transformers and Accelerate refuse it`,
    remedy: sentence`remove comments and trailing commas`,
    fixes: [],
  };
}

/** DeepSpeed stops at the start: fp16 and bf16 modes cannot be enabled together. */
function precisionRemarks(settings: Settings): readonly Finding[] {
  const on = precisionSwitches.map((name) => settings.get(name)).filter((setting) => setting?.value === true) as readonly Setting[];
  const [half, brain] = [on.find(({ name }) => name.startsWith('fp16')), on.find(({ name }) => !name.startsWith('fp16'))];
  if (half === undefined || brain === undefined) return [];
  const off = ({ name, place }: Setting, preferred: boolean) => ({
    title: sentence`Set ${name} to false`,
    preferred,
    edits: [{ place, newText: 'false' }],
  });
  return [
    {
      code: 'deepspeed-two-precisions',
      severity: 'error',
      place: half.place,
      message: sentence`${half.name} and ${brain.name} are both true`,
      remedy: sentence`set one of them to false: ${half.name} for GPUs since the A100`,
      fixes: [off(half, true), off(brain, false)],
    },
  ];
}

function openSetting({ name, place, whole }: Setting, placeholder: string, written: string): OpenSetting {
  const fact = factNamed(deepspeedKeys, name);
  return { name, placeholder, written, place, whole, ...(fact === undefined ? {} : { fact }) };
}

function openRemarks(open: readonly OpenSetting[]): readonly Finding[] {
  const missing = open.filter(({ fact }) => fact !== undefined);
  const [first] = missing;
  if (first === undefined) return [];
  const names = missing.slice(0, 5).map(({ name, written }) => `${name} (${quoted(written)})`);
  const more = missing.length > names.length ? sentence` and ${missing.length - names.length} more` : '';
  return [
    {
      code: 'template-placeholders',
      severity: 'information',
      place: first.place,
      message: sentence`This is a template: it leaves open ${names.join(', ')}${more}`,
      remedy: sentence`open the file that is made from it to see the whole run`,
      fixes: [],
    },
  ];
}

function shifted({ start, end }: TextRange, offset: number): TextRange {
  return { start: start + offset, end: end + offset };
}
