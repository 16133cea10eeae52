import { errorMessage } from '../../../core/errors';
import { oneAfterAnother } from '../core/clock';
import { gradientError } from '../core/gradient-error';
import { rowHandling, type Item } from '../core/handling';
import type { Schedule } from '../../../core/schedules/schedule';
import type { WithoutId } from '../../../protocol/profiler';
import type { RehearsalReply, RehearsalRequest } from '../protocol';
import { attentionOperators } from '../../../profiler/graph/attention';
import type { Runtime } from '../../../profiler/sessions';
import { processorMs, timeWorkOn } from './machine-clock';
import { type Mail, createStageRunner, type HandedOn, type StageRunner } from './stage';
import { openStepSessions, type StepPart } from './step-sessions';
import { timeCells } from './time-cells';

/** What a process of stages depends on; tests pass their own. */
interface StageServerParts {
  readonly loadRuntime: () => Promise<Runtime>;
  /** Milliseconds of a clock that all processes of the machine share. */
  readonly clock: () => number;
  readonly memory: () => { readonly rssBytes: number; readonly peakRssBytes: number };
  /** Joins the processes of the stages. @param addresses where each stage's process listens. */
  readonly openMail: (runtime: Runtime, stage: number, addresses: readonly string[]) => Promise<Mail>;
}

type Answer = WithoutId<RehearsalReply>;
type Notify = (notice: RehearsalReply) => void;
type Opened = Awaited<ReturnType<typeof openStages>>;
type RequestOf<Type extends RehearsalRequest['type']> = Extract<RehearsalRequest, { readonly type: Type }>;

/** Between two notices of how far a step is. */
const noticeMs = 50;

/** Answers requests one after the other. Rejects only for bugs: what a run or ONNX Runtime throws is an answer. */
export function createStageServer(parts: StageServerParts): (request: RehearsalRequest, notify: Notify) => Promise<RehearsalReply> {
  let opened: Opened | null = null;
  const answer = async (request: RehearsalRequest, notify: Notify): Promise<Answer> => {
    if (request.type === 'open') {
      opened = await openStages(parts, request);
      return { type: 'opened', onnxruntime: opened.runtime.env.versions.node ?? 'unknown', attention: opened.attention, ...parts.memory() };
    }
    if (opened === null) throw new Error('no step is open');
    return request.type === 'time' ? timed(parts, opened, request) : stepped(parts, opened, request, notify);
  };
  return async (request, notify) => {
    try {
      return { ...(await answer(request, notify)), id: request.id };
    } catch (error) {
      return { type: 'failed', id: request.id, message: errorMessage(error) };
    }
  };
}

async function openStages(parts: StageServerParts, { provider, step, split, stages, addresses }: RequestOf<'open'>) {
  const runtime = await parts.loadRuntime();
  const { forwardOnly = false } = step;
  const kinds: readonly StepPart[] = forwardOnly ? ['embedding', 'layer'] : ['embedding', 'layer', 'head'];
  let refused: unknown = new Error('no attention to try');
  for (const attention of attentionOperators(step.job)) {
    try {
      const sessions = await openStepSessions(runtime, provider, step.job, attention, { parts: kinds, split, forwardOnly });
      const runners = new Map(stages.map((stage) => [stage, createStageRunner(runtime, step, sessions)]));
      const [own] = stages;
      const mail = addresses.length === 0 || own === undefined ? null : await parts.openMail(runtime, own, addresses);
      const reference = new Map<string, Float32Array>();
      return { runtime, step, attention, runners, mail, reference, timeWork: timeWorkOn(provider) };
    } catch (error) {
      refused = error;
    }
  }
  throw refused;
}

async function timed(
  { memory }: StageServerParts,
  { runtime, step, runners, timeWork }: Opened,
  asked: RequestOf<'time'>,
): Promise<Answer> {
  const chunks = asked.chunks.flatMap(({ stage, chunk }) => {
    const runner = runners.get(stage);
    return runner === undefined ? [] : [{ chunk, runner }];
  });
  const cells = await timeCells(runtime, step, { ...asked, chunks }, timeWork);
  return { type: 'timed', cells, ...memory() };
}

async function stepped({ clock, memory }: StageServerParts, opened: Opened, asked: RequestOf<'step'>, notify: Notify): Promise<Answer> {
  const { runners, mail, reference } = opened;
  const { schedule, keep, id } = asked;
  for (const runner of runners.values()) runner.reset();
  const beforeMs = processorMs();
  const times = await runRows(opened, schedule, clock, (passes) => {
    notify({ type: 'passed', id, passes });
  });
  const spentMs = processorMs() - beforeMs;
  const gradients = new Map([...runners.values()].flatMap((runner) => [...runner.gradients()]));
  if (keep === 'reference') for (const [name, values] of gradients) reference.set(name, values);
  const answer: Answer = {
    type: 'stepped',
    ...times,
    processorMs: spentMs,
    loss: [...runners.values()].reduce((sum, runner) => sum + runner.loss(), 0),
    transfers: [...(mail?.transfers() ?? [])],
    error: keep === 'compared' ? gradientError(gradients, reference) : null,
    ...memory(),
  };
  // Gradients are this step's own from here on: what runs next sums into others.
  for (const runner of runners.values()) runner.reset();
  return answer;
}

async function runRows({ runners, mail, timeWork }: Opened, schedule: Schedule, clock: () => number, passed: (passes: number) => void) {
  const rows = oneAfterAnother(schedule);
  const startMs = new Float64Array(rows.length).fill(NaN);
  const endMs = new Float64Array(rows.length).fill(NaN);
  const workMs = new Float64Array(rows.length).fill(NaN);
  const chunkStage = (chunk: number): number => schedule.stageOfChunk[chunk] ?? 0;
  let [passes, shownMs] = [0, clock()];
  for (const row of rows) {
    const runner = runners.get(chunkStage(schedule.chunk[row] ?? 0));
    if (runner === undefined) continue;
    for (const item of fromElsewhere(schedule, row, runners)) runner.give(await taken(mail, item));
    startMs[row] = clock();
    const { result: made, ms } = await timeWork(() => runner.run(schedule, row));
    endMs[row] = clock();
    workMs[row] = ms;
    if (made !== null) handOn(made, chunkStage(made.item.chunk), runners, mail);
    passes += 1;
    if (clock() - shownMs < noticeMs) continue;
    shownMs = clock();
    passed(passes);
  }
  return { startMs, endMs, workMs };
}

/** What a row needs of stages in other processes. */
function fromElsewhere(schedule: Schedule, row: number, runners: ReadonlyMap<number, StageRunner>): Item[] {
  return rowHandling(schedule, row).needs.filter(({ what, chunk }) => {
    if (what !== 'activation' && what !== 'gradient') return false;
    const source = schedule.stageOfChunk[what === 'activation' ? chunk - 1 : chunk + 1] ?? 0;
    return !runners.has(source);
  });
}

async function taken(mail: Mail | null, item: Item): Promise<HandedOn> {
  if (mail === null) throw new Error('there is no other process');
  return { item, tensor: await mail.take(item) };
}

function handOn(made: HandedOn, stage: number, runners: ReadonlyMap<number, StageRunner>, mail: Mail | null): void {
  const here = runners.get(stage);
  if (here !== undefined) here.give(made);
  else mail?.send(stage, made);
}
