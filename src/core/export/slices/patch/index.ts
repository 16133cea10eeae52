import { ExpectedError } from '../../../errors';
import { splitLines } from '../../line-diff';
import { sum } from '../../../numbers';
import { sentence } from '../../../sentence';

/** A function that returns the lengths of the slices, in one version of a runtime's source. */
interface SplitsFunction {
  /** Its first line, at any indentation. */
  readonly head: RegExp;
  /** Whether a text is the file that holds it. */
  readonly isIn: (text: string) => boolean;
  /** What must hold for the list to be the run's, in names that the function has; `before`: of the line that it goes in front of. */
  readonly guard: (text: string, lengths: readonly number[]) => string;
  readonly before: RegExp;
}

/** Names of the number of slices and of the rule by generation. */
const generations = [
  ['pipe_sp_splits', 'pipe_sp_strategy'],
  ['seq1f1b_splits', 'seq1f1b_balance_method'],
] as const;

const versions: readonly SplitsFunction[] = [
  {
    // Seq1F1B at 68934661, its successors, MindSpeed at 028de58c: `args` is set when the rule is asked for
    head: /^(\s*)def get_splits\((?:self|args)?\):/,
    isIn: (text) => generations.some(([splits, rule]) => text.includes(`args.${splits}`) && text.includes(`args.${rule}`)),
    guard: (text, lengths) => {
      const [splits, rule] = generations.find(([own]) => text.includes(`args.${own}`)) ?? generations[0];
      return `args.${splits} == ${lengths.length} and args.${rule} == "uniform_comp" and args.seq_length == ${sum(lengths)}`;
    },
    before: /^\s*if args\./,
  },
  {
    // Megatron-LM, pull request 3116
    head: /^(\s*)def _get_span\(self, seq_length(?:: int)?\)(?: *-> *List\[int\])?:/,
    isIn: (text) => text.includes('self.chunked_pp_splits'),
    guard: (_, lengths) => `self.chunked_pp_splits == ${lengths.length} and seq_length == ${sum(lengths)}`,
    before: /^\s*\S/,
  },
];

/** What marks our lines, so that a later patch replaces them. */
const mark = '# Token slices of a TeraPipe plan';

/** Whether a text has a function that a list of lengths can be given to. */
export function isSplitsSource(text: string): boolean {
  return versions.some(({ head, isIn }) => isIn(text) && splitLines(text).some((line) => head.test(line)));
}

/**
 * The source of a runtime with a list of slice lengths in the function that returns them: for runs of just this many slices and tokens;
 * others go on as they did. Lines of an earlier patch are replaced.
 * @throws ExpectedError `slices-no-function` where the text has no such function that is known.
 */
export function patchedSplits(file: string, text: string, lengths: readonly number[]): string {
  const lines = splitLines(withoutPatch(text));
  const plain = lines.join('');
  for (const { head, isIn, guard, before } of versions) {
    if (!isIn(plain)) continue;
    const start = lines.findIndex((line) => head.test(line));
    const at = start < 0 ? -1 : lines.findIndex((line, index) => index > start && before.test(line));
    if (at < 0) continue;
    const indent = /^\s*/.exec(lines[at] ?? '')?.[0].replace(/[\r\n]/g, '') ?? '';
    const end = (lines[at] ?? '').endsWith('\r\n') ? '\r\n' : '\n';
    const inner = indent.includes('\t') ? `${indent}\t` : `${indent}    `;
    const patch = [
      `${indent}${mark}: ${lengths.length}`,
      `${indent}if ${guard(plain, lengths)}:`,
      `${inner}return [${lengths.join(', ')}]`,
    ];
    return [...lines.slice(0, at), ...patch.map((line) => line + end), ...lines.slice(at)].join('');
  }
  throw new ExpectedError(
    'slices-no-function',
    sentence`${file} has no get_splits() (Seq1F1B and forks) or _get_span() (Megatron-LM) that returns slice lengths`,
    sentence`name the sequence_split.py or sp_utils.py of the runtime, or export a split that its flags can give`,
  );
}

/** Without the three lines of an earlier patch. */
function withoutPatch(text: string): string {
  const lines = splitLines(text);
  const at = lines.findIndex((line) => line.trim().startsWith(mark));
  return at < 0 ? text : [...lines.slice(0, at), ...lines.slice(at + 3)].join('');
}
