import type { FactName, Facts, LauncherFile } from '../../core/run/facts';
import { formatCount, formatNumber } from '../../core/format';
import { explainSetting } from '../../core/domain/settings/table';
import { say, type Translate } from '../../core/sentence';
import { lineColumnAt } from '../../core/text';
import { explanationFor, scenarioLines } from './explanations';
import { factNumbers } from './fact-numbers';
import type { HoverText } from './explanation';
import { fileName } from '../../host/file-name';
import { factsOfRun, namedFacts, type NamedFact } from '../../host/sessions/run-facts';
import { factsAt, holds, parametersOfRun } from './launcher-facts';
import type { SessionState } from '../../host/sessions/session-state';

/** What to show for the value, key or flag at an offset of a launcher's text, or about the model config that it names. */
export function launcherHover(state: SessionState, launcher: LauncherFile, offset: number, t: Translate): HoverText | null {
  const at = factsAt(launcher.facts, launcher.file, offset);
  const [first] = at?.facts ?? [];
  if (at === null || first === undefined) return modelFileHover(state, launcher, offset, t);
  const facts = factsOfRun(state);
  const [meaning = '', ...meanings] = at.facts.map(({ key }) => say(explainSetting(key).meaning, t));
  const lines = at.facts.flatMap(({ key }) => factLines(key, state, launcher, facts, t));
  return {
    range: at.range,
    title: meaning,
    lines: [
      ...new Set([
        ...meanings,
        factText(first, launcher),
        ...(at.elsewhere ? [elsewhereText(first, launcher, t)] : []),
        ...lines,
        ...scenarioLines(state.staleEdits === 0 ? state.plan : null, t),
      ]),
    ].filter((line) => line !== meaning),
  };
}

/** The value under its own name in this format: `--tensor-model-parallel-size: 8`; a flag without a value as `--bf16`. */
function factText({ key, fact }: NamedFact, launcher: LauncherFile): string {
  const name = fact.name ?? key;
  const written = writtenText(fact, launcher);
  return written === name ? name : `${name}: ${written}`;
}

/** A value in the words of its file: `rope` and not what is made of it. One that is more than a word is shown as it is read. */
function writtenText({ value, source }: NamedFact['fact'], { file, text }: LauncherFile): string {
  if (source.kind !== 'file' || source.place.file !== file) return valueText(value);
  const { start, end } = source.place.range;
  const word = /^(["']?)([\w.,:/+-]{1,80})\1$/.exec(text.slice(start, end))?.[2];
  return word ?? valueText(value);
}

/** A fact's value in words: numbers as they are counted, lists cut short. */
export function valueText(value: unknown): string {
  if (Array.isArray(value)) return value.length > 8 ? `${value.slice(0, 8).join(', ')}, …` : value.join(', ');
  const text = String(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}

function factLines(name: FactName, state: SessionState, launcher: LauncherFile, facts: Facts, t: Translate): readonly string[] {
  const { key } = explainSetting(name);
  const numbers = factNumbers(name, { facts, format: launcher.format, parameters: parametersOfRun(state) }, t);
  return [...numbers, ...planLines(key, state, numbers.length > 0, t), ...otherFileLines(name, state, launcher, t)];
}

/** The plan counts these from sizes that it may have chosen itself; what follows only from the files wins. */
const countedFromFacts: readonly string[] = ['model.layers', 'model.heads', 'model.experts', 'cluster.nodes', 'model.modelType'];

function planLines(key: string, { plan, staleEdits }: SessionState, hasNumbers: boolean, t: Translate): readonly string[] {
  if (plan === null || staleEdits > 0 || (hasNumbers && countedFromFacts.includes(key))) return [];
  return explanationFor(key)?.derived?.(plan, t) ?? [];
}

/** What the model config joined to the launcher sets for the same. */
function otherFileLines(name: FactName, { run }: SessionState, launcher: LauncherFile, t: Translate): readonly string[] {
  const other = run?.facts?.[name];
  if (other?.source.kind !== 'file' || other.source.place.file === launcher.file) return [];
  return [t('{0} has {1} ({2}).', fileName(other.source.place.file), valueText(other.value), other.name ?? other.source.key)];
}

function elsewhereText({ fact }: NamedFact, launcher: LauncherFile, t: Translate): string {
  const { source } = fact;
  const line = source.kind === 'file' ? lineColumnAt(launcher.text, source.place.range.start).line : 1;
  return t('{0} is set on line {1}.', writtenText(fact, launcher), line);
}

const modelSizes: readonly FactName[] = ['layers', 'hidden', 'heads', 'kvHeads', 'ffn', 'experts', 'vocab'];

/** On the path of a model config that was joined: the sizes that it adds. */
function modelFileHover(state: SessionState, { file, modelFiles }: LauncherFile, offset: number, t: Translate): HoverText | null {
  const named = modelFiles.find(({ source }) => source.kind === 'file' && source.place.file === file && holds(source.place.range, offset));
  const facts = state.run?.facts;
  if (named?.source.kind !== 'file' || facts === undefined) return null;
  const sizes = namedFacts(facts).filter(({ key, fact }) => modelSizes.includes(key) && fact.source.kind === 'file');
  const parameters = parametersOfRun(state);
  return {
    range: named.source.place.range,
    title: t('the model of this run'),
    lines: [
      ...sizes.map(
        ({ key, fact }) => `${fact.name ?? key}: ${typeof fact.value === 'number' ? formatNumber(fact.value) : valueText(fact.value)}`,
      ),
      ...(parameters === null ? [] : [t('{0} parameters.', formatCount(parameters))]),
    ],
  };
}
