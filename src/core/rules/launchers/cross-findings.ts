import type { FactName, Facts, LauncherFile } from '../../run/facts';
import type { Finding } from '../../findings';
import { formatNumber } from '../../format';
import { baseName, quoted } from '../../text';
import { countOf } from '../../launchers/counts';
import { vocabMultiple } from '../../launchers/layout-sizes';
import { toLaunchFinding } from '../launch-findings';
import { setTo } from '../rule';
import { sentence, type Sentence, type Value } from '../../sentence';

/** What both files call by one name, in words. */
const shared = {
  layers: sentence`layers`,
  hidden: sentence`hidden size`,
  heads: sentence`attention heads`,
  kvHeads: sentence`key/value heads`,
  headDim: sentence`head size`,
  ffn: sentence`feed-forward width`,
  vocab: sentence`vocabulary`,
  experts: sentence`experts`,
  activeExperts: sentence`experts a token visits`,
  expertFfn: sentence`width of an expert`,
} as const satisfies Partial<Record<FactName, Sentence>>;

type SharedName = keyof typeof shared;

const rule = { code: 'two-files-disagree', severity: 'warning' } as const;

/**
 * Sizes that a launcher writes and the model config of the same run has otherwise, each at the launcher's value, with a fix that takes over
 * the model's. What the launcher leaves out is not compared, and vocabularies may differ by padding.
 *
 * @finding two-files-disagree
 * The launcher and the model config of one run give different sizes. The checkpoint will not convert or load. Vocabularies may differ by
 * padding.
 * @example `--hidden-size 1026` and a config.json with `"hidden_size": 768`. "1,026 here, 768 in config.json (hidden_size): the hidden size
 * of one run"
 * @source `load_checkpoint` of Megatron-LM, and the converters from Hugging Face compare or copy these sizes.
 * @ignore the model config next to the launcher is that of another model.
 */
export function crossFindings(launcher: LauncherFile, model: LauncherFile): Finding[] {
  return (Object.keys(shared) as SharedName[]).flatMap((name) => {
    const ours = countOf(launcher.facts, name);
    const theirs = countOf(model.facts, name);
    if (ours === null || theirs === null || ours === theirs || launcher.facts[name]?.source.kind !== 'file') return [];
    if (name === 'vocab' && differsByPadding(launcher, ours, theirs)) return [];
    const issue = {
      at: [name],
      message: sentence`${formatNumber(ours)} here, ${formatNumber(theirs)} in ${otherValueLabel(model, name)}: the ${shared[name]} of one run`,
      remedy: sentence`use ${formatNumber(theirs)} here, or correct the other file`,
      changes: setTo(name, [theirs]),
    };
    const finding = toLaunchFinding(rule, issue, launcher.facts, launcher.place, (file) =>
      file === launcher.file ? launcher.text : undefined,
    );
    return finding === null ? [] : [finding];
  });
}

/** The other file and what it calls the value; a default of its model class is called one. */
function otherValueLabel({ file, facts }: LauncherFile, name: SharedName): Value {
  const fact: Facts[SharedName] = facts[name];
  const base = baseName(file);
  const key = fact?.name ?? (fact?.source.kind === 'file' ? fact.source.key : undefined);
  const of = key === undefined ? '' : ` (${quoted(key, 80).slice(1, -1)})`;
  const shown = quoted(base).slice(1, -1);
  return fact?.source.kind === 'default' ? sentence`${shown} (by default)` : shown + of;
}

/** Either file may hold the vocabulary padded: by less than one step (divisor x tensor size) to a multiple of 8 at least. */
function differsByPadding({ facts, format }: LauncherFile, ours: number, theirs: number): boolean {
  const step = vocabMultiple(facts, format) ?? 128;
  const [small, large] = [Math.min(ours, theirs), Math.max(ours, theirs)];
  return large - small < step && large % 8 === 0;
}
