import * as v from 'valibot';
import { formatBytes } from '../../../../core/format';
import { verdictWord } from '../../../../core/memory-model/verdict';
import { say, sentence } from '../../../../core/sentence';
import { ExpectedError } from '../../../../core/errors';
import { explainOom, type OomPlan, type PlannedRun } from '../../../oom/core/answer';
import { evidenceOfText } from '../../../oom/core/read-log';
import { verdictSentences } from '../../../oom/core/report';
import { boundedAnswer, gib, defineTool, type ToolHost } from '../tool';
import { askedEntries, type ConfigQuestion } from '../input';
import { planAsked } from '../load';

export const oomTool = defineTool({
  title: 'Why a run ran out of memory',
  description:
    'Reads the out-of-memory error of PyTorch in a log, or memory that Megatron-LM, TorchTitan, DeepSpeed or nvidia-smi logged, and reports the cause (fragmentation, CUDA graphs, leak, spike, optimizer step, other processes, capacity), the first fix and its cost. With a config (path or text) the memory is compared with the plan and changes are priced. Reads only; memory snapshots are read by `terapipe oom` on a terminal.',
  input: v.object({
    log: v.optional(v.pipe(v.string(), v.minLength(1), v.maxLength(4096), v.description('File of the log, inside the workspace'))),
    logText: v.optional(v.pipe(v.string(), v.minLength(1), v.maxLength(1_000_000), v.description('Lines of the log, in place of log'))),
    ...askedEntries,
  }),
  example: { log: 'train.log', path: 'train.sh' },
  async run({ log, logText, ...asked }, host) {
    if ((log === undefined) === (logText === undefined))
      throw new ExpectedError('agent-question', sentence`One log is needed`, sentence`give log or logText`);
    const evidence = evidenceOfText(log === undefined ? (logText ?? '') : (await host.open(log)).text);
    const hasConfig = asked.path !== undefined || asked.text !== undefined;
    const answer = explainOom(evidence, hasConfig ? await plannedRun(asked, host) : null);
    const { account, also, cause, rank } = answer.verdict;
    return boundedAnswer(
      [
        ...verdictSentences(answer).map((line) => say(line)),
        ...(answer.plan === null || cause === 'none' ? [] : planLines(answer.plan)),
        hasConfig || cause === 'none' ? null : 'Next: give the config (path) to have fixes planned and priced.',
      ],
      {
        cause,
        also,
        rank,
        memoryGiB: Object.fromEntries(
          Object.entries(account).flatMap(([name, bytes]) => (bytes === null ? [] : [[name.replace(/Bytes$/, ''), gib(bytes as number)]])),
        ),
      },
    );
  },
});

async function plannedRun(asked: ConfigQuestion, host: ToolHost): Promise<PlannedRun> {
  return { ...(await planAsked(asked, host)).planned, defaults: host.defaults, signal: host.signal };
}

function planLines({ against, priced }: OomPlan): string[] {
  if (against === null) return [];
  const measured = against.rows
    .filter(({ measuredBytes }) => measuredBytes !== null)
    .map(({ name, measuredBytes, plannedBytes }) => `${name} ${formatBytes(measuredBytes ?? 0)} (planned ${formatBytes(plannedBytes)})`);
  return [
    `Stage ${against.stage} of ${against.stages}${against.isOfRank ? '' : ', the fullest of the plan'}: ${measured.join(', ')}. The plan ${say(verdictWord({ fits: against.plannedFits, tight: against.plannedTight }))}.`,
    ...priced.map(({ text, sets }) => `${say(text)}${sets.length === 0 ? '' : ` (${sets.join(' ')})`}.`),
  ];
}
