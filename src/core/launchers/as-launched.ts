import { sentence } from '../sentence';
import { interleavedPair } from '../domain/capabilities';
import { byDefault } from '../domain/located';
import type { Capabilities, Fact, FactName, Facts, LauncherFile } from '../run/facts';
import type { LauncherTraits } from './traits';
import { megatronDeepSpeedCapabilities } from './megatron/forks/deepspeed';
import { megatronDefaults, megatronTrainingDefaults } from './megatron/megatron-defaults';
import { isLauncher, launchers, launcherTraits } from './registry';

/** What the launcher of a file, or the program of its family that it starts, can run; null: the file is of none. */
export function launchedCapabilities(file: Pick<LauncherFile, 'format' | 'program' | 'facts'>): Capabilities | null {
  const { format, program, facts } = file;
  if (settingOfDeepSpeed(file) !== undefined) {
    const { refuses, ...others } = megatronDeepSpeedCapabilities(facts);
    return { ...others, ...program?.capabilities, refuses };
  }
  const stated = program?.capabilities ?? (isLauncher(format) ? launchers[format].capabilities : null);
  const isPairRefused = facts.overlapP2p?.value === false && programTraits(file).runtime === 'megatron';
  return stated === null || !isPairRefused ? stated : { ...stated, refuses: [...stated.refuses, interleavedPair] };
}

/** The setting by which arguments of Megatron-LM are those of Megatron-DeepSpeed; undefined: they are not. */
export function settingOfDeepSpeed(file: Pick<LauncherFile, 'format' | 'program' | 'facts'>): Fact<unknown> | undefined {
  const { runtime, takesMegatronArguments } = programTraits(file);
  const { zeroStage, activationCheckpointing } = file.facts;
  return takesMegatronArguments && runtime === 'megatron' ? (zeroStage ?? activationCheckpointing) : undefined;
}

/** In what the launcher of a file differs, or the program of its family that it starts. */
export function programTraits({ format, program }: Pick<LauncherFile, 'format' | 'program'>): LauncherTraits {
  return { ...launcherTraits(format), ...program?.traits };
}

const parallelSizes = ['tensor', 'pipeline'] as const;

/** Remarks of readers that a part of the run could not be read. */
const incomplete: ReadonlySet<string> = new Set(['base-not-found', 'shell-not-followed', 'template-placeholders']);

/** Flags of a file whose values are not known, and whether others may set what it does not: it is a part of a run, or a template. */
export function leftOpenIn(launcher: Pick<LauncherFile, 'format' | 'program' | 'remarks' | 'isPart' | 'placeholders'>): {
  readonly flags: readonly string[];
  readonly isPart: boolean;
} {
  const { remarks, isPart, placeholders } = launcher;
  const { namesShardingOnly } = programTraits(launcher);
  const isOpened = (code: string): boolean => incomplete.has(code) && !(namesShardingOnly === true && code === 'base-not-found');
  const flags = remarks
    .filter(({ code }) => code === 'flag-unknown-value')
    .flatMap(({ message: { values } }) => {
      const [name] = values;
      return typeof name === 'string' ? [name] : [];
    });
  const hasHoles = flags.length === 0 && placeholders.length > 0;
  return { flags, isPart: isPart === true || hasHoles || remarks.some(({ code }) => isOpened(code)) };
}

/**
 * What a file leaves open of sizes and recompute: it can express it, and is a part of the run, or takes it from a variable that nobody
 * sets, or builds on a recipe that decides it.
 */
function openFacts(launcher: LauncherFile, { setBy }: Capabilities, leavesOpen: boolean): readonly FactName[] {
  const { flags, isPart } = leftOpenIn(launcher);
  const isOpen = (name: string): boolean => leavesOpen || isPart || flags.some((flag) => flag.includes(name));
  // a program for another accelerator that only repeats the model sets nothing for GPUs
  const isUnsplit = programTraits(launcher).accelerator !== undefined && parallelSizes.every((size) => setBy[size] === 'nobody');
  const sizes = parallelSizes.filter((size) => isUnsplit || (setBy[size] === 'file' && isOpen(size)));
  const isExpertOpen = setBy.expert === 'file' && isExpertSizeOpen(launcher, flags);
  const isRecomputeOpen = ['recompute', 'checkpoint'].some(isOpen);
  const recompute = isRecomputeOpen ? (['recomputeGranularity', 'recomputeMethod', 'recomputeLayers'] as const) : [];
  return [...sizes, ...(isExpertOpen ? (['expert'] as const) : []), ...recompute];
}

/** Names of the flags and settings that set a parallel size; others that have these words set how it is used, or a size of another. */
function sizeFlag(names: string): RegExp {
  return new RegExp(`(?:^[-+]*|\\.)(?:megatron[-_]lm[-_]|moe[-_])?(?:${names})(?:[-_](?:size|degree))?$`);
}

const sizeFlags = {
  tensor: sizeFlag('tensor[-_](?:model[-_])?parallel|model[-_]parallel[-_]size'),
  pipeline: sizeFlag('pipe(?:line)?[-_](?:model[-_])?parallel'),
  context: sizeFlag('context[-_]parallel'),
  expert: sizeFlag('expert[-_](?:model[-_])?parallel'),
} as const;

/** Parallel sizes that a file takes from a variable that nobody sets: NaN, as no rule may take the launcher's default for them. */
export function unknownSizes(file: Pick<LauncherFile, 'facts' | 'format' | 'program' | 'remarks' | 'openSizes'>): Facts {
  const { flags } = leftOpenIn({ ...file, placeholders: [] });
  const isOpen = (name: string, flag: RegExp): boolean =>
    file.openSizes?.some((open) => open === name) === true || flags.some((written) => flag.test(written));
  const open = Object.entries(sizeFlags).filter(
    ([name, flag]) => isOpen(name, flag) && file.facts[name as keyof typeof sizeFlags]?.source.kind !== 'file',
  );
  return Object.fromEntries(open.map(([name]) => [name, byDefault(Number.NaN, sentence`a variable that nothing here sets`)]));
}

/** Whether a variable that nobody sets decides how many ranks share the experts. */
function isExpertSizeOpen({ facts, placeholders }: LauncherFile, flags: readonly string[]): boolean {
  const isVariable = flags.some((flag) => sizeFlags.expert.test(flag));
  return isVariable || (flags.length === 0 && placeholders.length > 0 && facts.expert === undefined);
}

/** What a launcher takes for what its file leaves open, each value marked as its default. */
function silentFacts({ name, silent }: Capabilities): Facts {
  const reason = sentence`${name} takes it where nothing is set`;
  const sizes = parallelSizes.map((size) => [size, 1] as const);
  return Object.fromEntries([...sizes, ...Object.entries(silent)].map(([fact, value]) => [fact, byDefault(value, reason)]));
}

/**
 * A file completed by what its launcher takes for what it leaves open, so that a run is planned as it would be launched.
 * @param isJoined with a model config, which defaults of Megatron-LM's model would contradict.
 */
export function asLaunched(launcher: LauncherFile, isJoined: boolean): LauncherFile {
  const capabilities = launchedCapabilities(launcher);
  if (capabilities === null) return launcher;
  const { takesMegatronArguments, modelSetsTraining, leavesOpen } = programTraits(launcher);
  const open = openFacts(launcher, capabilities, leavesOpen);
  const takesDefaults = takesMegatronArguments && !(isJoined && modelSetsTraining);
  const { facts } = launcher;
  const defaults = takesDefaults ? (isJoined ? megatronTrainingDefaults : megatronDefaults)(facts) : {};
  const taken = { ...silentFacts(capabilities), ...defaults };
  const closed = Object.fromEntries(Object.entries(taken).filter(([name]) => !open.some((fact) => fact === name)));
  return { ...launcher, facts: { ...closed, ...facts } };
}
