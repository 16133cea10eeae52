import * as v from 'valibot';
import { formatBytes } from '../../../../core/format';
import { slowdownText } from '../../../../core/planner/explain/slower';
import { say, sentence } from '../../../../core/sentence';
import { ExpectedError } from '../../../../core/errors';
import { againstPlan, priceFixes } from '../../../oom/core/against-plan';
import { causeNames, causeSentence, firstFix } from '../../../oom/core/fixes';
import type { Evidence } from '../../../oom/core/evidence';
import { makeOomLogReader } from '../../../oom/core/read-log';
import { judge, type Verdict } from '../../../oom/core/verdict';
import { orList } from '../../../../core/text';
import { boundedAnswer, gib } from '../answer';
import { askedEntries, type ConfigQuestion } from '../input';
import { planAsked } from '../load';
import { defineTool, type ToolHost } from '../tool';

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
    const reader = makeOomLogReader();
    reader.push(log === undefined ? (logText ?? '') : (await host.open(log)).text);
    const evidence = reader.end();
    const verdict = judge(evidence);
    const fix = firstFix(verdict);
    const hasConfig = asked.path !== undefined || asked.text !== undefined;
    const planned = hasConfig && verdict.cause !== 'none' ? await plannedLines(asked, evidence, verdict, host) : [];
    const { account, also, cause, rank } = verdict;
    return boundedAnswer(
      [
        `${say(causeSentence(verdict, evidence))}${rank === null ? '' : ` (rank ${rank})`}.`,
        fix === null ? null : `First: ${say(fix.fix)}. Cost: ${say(fix.cost)}.`,
        also.length === 0 ? null : `It may also be ${orList(also.map((one) => causeNames[one]))}.`,
        ...planned,
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

async function plannedLines(asked: ConfigQuestion, evidence: Evidence, verdict: Verdict, host: ToolHost): Promise<string[]> {
  const { run, plan, remedies = [] } = (await planAsked(asked, host)).planned;
  const against = againstPlan(plan, evidence, verdict);
  if (against === null) return [];
  const measured = against.rows
    .filter(({ measuredBytes }) => measuredBytes !== null)
    .map(({ name, measuredBytes, plannedBytes }) => `${name} ${formatBytes(measuredBytes ?? 0)} (planned ${formatBytes(plannedBytes)})`);
  const usual = remedies.length > 0 ? [] : priceFixes(run, plan, against.stage, { defaults: host.defaults, signal: host.signal });
  return [
    `Stage ${against.stage} of ${against.stages}${against.isOfRank ? '' : ', the fullest of the plan'}: ${measured.join(', ')}. The plan ${against.plannedFits ? 'fits' : 'does not fit'}.`,
    ...remedies.map(({ label, slower }) => `${say(label)}: fits, ${say(slowdownText(slower))}.`),
    ...usual.map(
      ({ label, freesBytes, slower, sets }) =>
        `${say(label)} (${sets.join(' ')}): frees ${formatBytes(freesBytes)}, ${say(slowdownText(slower))}.`,
    ),
  ];
}
