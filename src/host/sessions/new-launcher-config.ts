import { layoutFields, trainingFields } from '../../core/terapipe/fields';
import { modelFields } from '../../core/run/written-model';
import type { Facts, LauncherFile } from '../../core/run/facts';
import { completeInline } from '../../core/terapipe/inline-model';
import { runOfLauncher } from '../../core/launchers/launcher-run';
import type { Run } from '../../core/run/run';
import { product } from '../../core/launchers/counts';
import { dataParallelSize, microBatchesPerReplica } from '../../core/launchers/layout-sizes';
import type { Located } from '../../core/domain/located';
import type { ResolveDefaults } from '../../core/plan-request/scenario';
import { printable } from '../../core/text';
import { fileName } from '../file-name';
import { factsOfRun, namedFacts } from './run-facts';
import type { SessionState } from './session-state';
import { say, sentence } from '../../core/sentence';
import { own } from '../../core/records';

/** A line of a section: what is written, and in a comment where it was read. */
interface Line {
  readonly key: string;
  readonly value: unknown;
  readonly comment: string;
  /** Some file gives it; false for what launchers take by default and what follows from the rest. */
  readonly isWritten: boolean;
}

/**
 * A `terapipe.json` that sets what a launcher sets: the model (the config joined to it by name, or the numbers), layout, training and
 * cluster, each value with the launcher's name for it. What the launcher leaves out stays out, so that the planner chooses it.
 * @param target identity of the file to be written; the model config is named relative to it.
 * @returns null when the launcher sets nothing that a `terapipe.json` can hold.
 */
export function newLauncherConfigText(state: SessionState, target: string, { gpu }: ResolveDefaults): string | null {
  const { launcher, run } = state;
  if (launcher === null) return null;
  const facts = factsOfRun(state);
  const known = run ?? withoutSizes(launcher);
  const modelFile = run?.files.find((file) => file !== launcher.file);
  const from = modelFile === undefined ? null : relativePath(target, modelFile);
  const model = run === null ? knownSizes(launcher) : from === null ? wholeModel(run, launcher) : ownSizes(run, launcher);
  const layout = layoutLines(known, facts, launcher);
  const training = trainingLines(known, facts, launcher);
  const cluster = givenLines(known, ['nodes', 'gpusPerNode'], launcher);
  if (from === null && ![model, layout, training, cluster].flat().some(({ isWritten }) => isWritten)) return null;
  const sections = [
    ...(from !== null && model.length === 0 ? [`  "model": ${JSON.stringify(from)}`] : [modelSection(model, from, run === null, launcher)]),
    section('cluster', [filled('gpu', gpu, 'of the settings: launchers do not name it'), ...cluster]),
    ...(layout.length === 0 ? [] : [section('layout', layout)]),
    ...(known.schedule === undefined ? [] : [`  "schedule": ${JSON.stringify(known.schedule.value)}`]),
    ...(training.length === 0 ? [] : [section('training', training)]),
  ];
  const caution = [run?.unplanned === undefined ? undefined : say(run.unplanned.message), from === null ? beyondNumbers(run) : undefined]
    .flatMap((sentence) => (sentence === undefined ? [] : [`// ${printable(sentence)}.\n`]))
    .join('');
  const origin = `${originComment(launcher)} TeraPipe chooses whatever is left out, and shows its choices with the plan.`;
  return `${origin}\n${caution}{\n${sections.join(',\n')}\n}\n`;
}

/** What numbers cannot describe of a model, so that nobody plans another model unawares; undefined where they describe all. */
function beyondNumbers(run: Run | null): string | undefined {
  const { latent, experts, layerKinds } = run?.traits ?? {};
  const parts = [
    ...(latent ? ['latent attention'] : []),
    ...(experts?.sharedFfn === undefined ? [] : ['shared experts']),
    ...(layerKinds === undefined ? [] : ['layers of several kinds']),
  ];
  return parts.length === 0
    ? undefined
    : `The numbers below leave out what they cannot express: ${parts.join(', ')}. Name the config.json of the model as "from" instead`;
}

/** How a `terapipe.json` that was made from this launcher begins. */
export function originComment({ file }: Pick<LauncherFile, 'file'>): string {
  return `// Read from ${printable(fileName(file))}.`;
}

/** Layout, training and cluster of a launcher whose model's sizes are not known. */
function withoutSizes(launcher: LauncherFile): Run {
  const unknown: Located<number> = { value: 1, source: { kind: 'default', reason: sentence`not known` } };
  const facts = { layers: unknown, hidden: unknown, heads: unknown, ...launcher.facts };
  const run = runOfLauncher({ ...launcher, facts }, '', null);
  if (launcher.facts.layers !== undefined || launcher.facts.virtualStages !== undefined) return run;
  const layout = Object.entries(run.layout).filter(([key]) => key !== 'virtualStages');
  return { ...run, layout: Object.fromEntries(layout) };
}

type ModelKey = keyof typeof modelFields;
const modelKeys = Object.keys(modelFields) as ModelKey[];

/** The sizes that the launcher gives, when they are too few for a model. */
function knownSizes({ facts }: LauncherFile): readonly Line[] {
  return modelKeys.flatMap((key) => {
    const fact = (facts as Readonly<Record<string, Located<unknown> | undefined>>)[key];
    return fact?.source.kind === 'file' ? [configLine(key, fact, facts)] : [];
  });
}

/** What a model given by numbers needs. */
const neededKeys = ['layers', 'hidden', 'heads'] as const satisfies readonly ModelKey[];

/** Every number that a model given by numbers would not have by itself, and those that it needs. */
function wholeModel({ model }: Run, { facts, place }: LauncherFile): readonly Line[] {
  const { layers, hidden, heads } = model;
  // What the others follow from is written itself where it is not what numbers by themselves would be.
  const bare = completeInline({ layers, hidden, heads }, place);
  const own = completeInline({ layers, hidden, heads, gatedMlp: model.gatedMlp, maxPositions: model.maxPositions }, place);
  return modelKeys.flatMap((key): Line[] => {
    const { value, source } = model[key];
    const usual = key === 'gatedMlp' || key === 'maxPositions' ? bare : own;
    const isNeeded = neededKeys.some((needed) => needed === key) || source.kind === 'file' || usual[key].value !== value;
    return isNeeded && value !== null ? [configLine(key, model[key], facts)] : [];
  });
}

/** What the launcher sets itself, over the model config that is named. */
function ownSizes({ model }: Run, { facts, file }: LauncherFile): readonly Line[] {
  const biases: readonly ModelKey[] = facts.bias === undefined ? [] : ['qkvBias', 'attentionOutputBias', 'mlpBias'];
  return modelKeys.flatMap((key): Line[] => {
    const { value, source } = model[key];
    const isOwn = Object.hasOwn(facts, key) || biases.includes(key) || (source.kind === 'file' && source.place.file === file);
    return isOwn && value !== null ? [configLine(key, model[key], facts)] : [];
  });
}

function layoutLines(run: Run, facts: Facts, launcher: LauncherFile): readonly Line[] {
  const given = givenLines(run.layout, Object.keys(layoutFields), launcher);
  const data = run.layout.data === undefined && given.length > 0 ? dataParallelSize(facts, launcher.format) : null;
  return data === null ? given : [...given, filled('data', data, 'follows from the number of GPUs')];
}

function trainingLines(run: Run, facts: Facts, launcher: LauncherFile): readonly Line[] {
  const given = givenLines(run.training, Object.keys(trainingFields), launcher);
  const { format } = launcher;
  const { globalBatch, microBatch } = run.training;
  const batch =
    globalBatch === undefined
      ? product(microBatch?.value ?? null, microBatchesPerReplica(facts, format), dataParallelSize(facts, format))
      : null;
  return batch === null ? given : [...given, filled('globalBatch', batch, 'micro-batch x micro-batches x replicas')];
}

/** Values that a file gives; what the planner would take as well, or chooses, stays out. */
function givenLines(fields: object, keys: readonly string[], { facts }: LauncherFile): readonly Line[] {
  const values = fields as Readonly<Record<string, Located<unknown> | undefined>>;
  return keys.flatMap((key) => {
    const located = own(values, key);
    return located === undefined ? [] : [configLine(key, located, facts)];
  });
}

function configLine(key: string, located: Located<unknown>, facts: Facts): Line {
  return { key, value: located.value, comment: valueComment(located, facts), isWritten: located.source.kind === 'file' };
}

function filled(key: string, value: string | number, comment: string): Line {
  return { key, value, comment, isWritten: false };
}

/** The launcher's name for a value, or the sentence that a default has. */
function valueComment({ source }: Located<unknown>, facts: Facts): string {
  if (source.kind === 'default') return say(source.reason);
  if (source.kind === 'override') return '';
  const named = namedFacts(facts).find(
    ({ fact }) => fact.source.kind === 'file' && fact.source.place.range.start === source.place.range.start && fact.name !== undefined,
  );
  return named?.fact.name ?? source.key;
}

function modelSection(lines: readonly Line[], from: string | null, isIncomplete: boolean, { file, facts }: LauncherFile): string {
  const missing = neededKeys.filter((key) => facts[key] === undefined);
  const note = isIncomplete
    ? [`    // ${printable(fileName(file))} does not say ${missing.join(', ')}: write them here, or "from": "config.json" of the model.`]
    : [];
  return section('model', [...(from === null ? [] : [filled('from', from, '')]), ...lines], note);
}

function section(name: string, lines: readonly Line[], notes: readonly string[] = []): string {
  const written = lines.map(({ key, value, comment }, index) => {
    const comma = index < lines.length - 1 ? ',' : '';
    return `    ${JSON.stringify(key)}: ${JSON.stringify(value)}${comma}${comment === '' ? '' : ` // ${printable(comment)}`}`;
  });
  return [`  ${JSON.stringify(name)}: {`, ...notes, ...written, '  }'].join('\n');
}

/** The way from one file to another on the same file system, as a config writes it; null where there is none. */
export function relativePath(from: string, to: string): string | null {
  const [here, there] = [from.split('/'), to.split('/')];
  const root = 3;
  if (here.slice(0, root).join('/') !== there.slice(0, root).join('/')) return null;
  let shared = root;
  while (shared < here.length - 1 && shared < there.length - 1 && here[shared] === there[shared]) shared += 1;
  const up = here.slice(shared, -1).map(() => '..');
  try {
    return [...up, ...there.slice(shared).map(decodeURIComponent)].join('/');
  } catch {
    return null;
  }
}
