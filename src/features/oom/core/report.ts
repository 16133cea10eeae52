import { formatBytes, formatCount } from '../../../core/format';
import type { Report, ReportBlock } from '../../../core/report';
import { anyOf, sentence, type Sentence, type Value } from '../../../core/sentence';
import type { AgainstPlan } from './against-plan';
import type { OomAnswer, OomPlan } from './answer';
import { causeNames, causeSentence } from './fixes';
import type { Evidence } from './evidence';
import type { Verdict } from './verdict';

/** Why a run ran out of memory: the cause, what to do first, who holds the memory, and the plan next to it. */
export function oomReport(answer: OomAnswer): Report {
  const [headline, ...lines] = verdictSentences(answer);
  return {
    headline,
    lines,
    blocks: [
      { title: sentence`Memory`, rows: accountRows(answer.verdict), left: [] },
      { title: sentence`Who holds it`, rows: holderRows(answer.evidence), left: [2] },
      ...(answer.plan === null ? [] : planBlocks(answer.plan)),
    ],
  };
}

/** The cause, the first fix with its cost, and what it may be too. */
export function verdictSentences({ evidence, verdict, fix }: OomAnswer): [cause: Sentence, ...others: Sentence[]] {
  const { also, rank, ranks } = verdict;
  const cause = causeSentence(verdict, evidence);
  const whole =
    rank === null
      ? sentence`${cause}.`
      : ranks > 1
        ? sentence`${cause} (rank ${rank}, first of ${formatCount(ranks)}).`
        : sentence`${cause} (rank ${rank}).`;
  return [
    whole,
    ...(fix === null ? [] : [sentence`First: ${fix.fix}. Cost: ${fix.cost}.`]),
    ...(also.length === 0 ? [] : [sentence`It may also be ${anyOf(also.map((one) => causeNames[one]))}.`]),
  ];
}

function accountRows({ account, peak }: Verdict): Value[][] {
  const rows: readonly (readonly [Sentence | string, number | null])[] = [
    ['GPU', account.capacityBytes],
    [sentence`asked for`, account.requestBytes],
    [sentence`free`, account.freeBytes],
    [sentence`in tensors`, account.allocatedBytes],
    [sentence`in private pools`, account.poolBytes],
    [sentence`reserved, in no tensor`, account.unallocatedBytes],
    [sentence`outside the allocator`, account.outsideBytes],
    [sentence`other processes`, account.othersBytes],
    [sentence`most in tensors, logged`, peak.allocatedBytes],
    [sentence`most reserved, logged`, peak.reservedBytes],
    [sentence`most in use, logged`, peak.inUseBytes],
  ];
  return rows.flatMap(([name, bytes]) => (bytes === null ? [] : [[name, formatBytes(bytes)]]));
}

function holderRows({ snapshot }: Evidence): Value[][] {
  return (snapshot?.holders ?? []).map(({ line, part, bytes, blocks }) => [
    part,
    formatBytes(bytes),
    blocks === 1 ? sentence`${line}, 1 block` : sentence`${line}, ${formatCount(blocks)} blocks`,
  ]);
}

function planBlocks({ title, against, priced }: OomPlan): ReportBlock[] {
  const changes = priced.map(({ text, sets }) => [
    sets.length === 0 ? text : sentence`${text} (${sets.map((set) => `--set ${set}`).join(' ')})`,
  ]);
  return [...(against === null ? [] : [againstBlock(title, against)]), { title: sentence`Planned changes`, rows: changes, left: [] }];
}

function againstBlock(title: string, { stage, stages, isOfRank, plannedFits, plannedTight, rows }: AgainstPlan): ReportBlock {
  return {
    title: isOfRank
      ? sentence`${title}: stage ${stage} of ${stages}`
      : sentence`${title}: stage ${stage} of ${stages}, the fullest of the plan`,
    head: ['', sentence`measured`, sentence`planned`],
    rows: rows.map(({ name, measuredBytes, plannedBytes }) => [
      name,
      measuredBytes === null ? '' : formatBytes(measuredBytes),
      formatBytes(plannedBytes),
    ]),
    left: [],
    ...(plannedTight
      ? { foot: sentence`The plan may not fit: it leaves no room for what is not in it.` }
      : plannedFits
        ? { foot: sentence`The plan fits: what is measured above it is not in the plan.` }
        : {}),
  };
}
