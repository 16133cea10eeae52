import { shareCancelFlag } from '../host/planner/cancel-flag';
import type { PlannerProcess, ProcessOptions, StartPlanner } from '../host/planner/process';
import type { LinkedFiles } from './link';

/** What a planner's worker is asked before there is a page: the first figures of a link. */
export interface FirstRequest {
  readonly first: LinkedFiles;
}

/** The figures, as text; null for none. */
export interface FirstAnswer {
  readonly figures: string | null;
}

/** A worker that was started early, for the first planner. */
let spare: Worker | null = null;

/** Asks a planner for the first figures of a link; null where there are none yet. */
export function askFirst(files: LinkedFiles): Promise<string | null> {
  const worker = (spare = startWorker());
  return new Promise((resolve) => {
    worker.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
      if (isFirstAnswer(data)) resolve(data.figures);
    });
    worker.postMessage({ first: files } satisfies FirstRequest);
  });
}

/** A request to compare with a measured run goes with the file, which the policy of the page lets nobody fetch. */
export interface WithMeasured {
  readonly measured: File | null;
}

/** Starts planners in web workers. @param measured the file of a measured run by its URI. */
export function plannerStarter(measured: (file: string) => File | null): StartPlanner {
  return (options) => startPlannerWorker(options, measured);
}

function startPlannerWorker({ onReply, onEnd }: ProcessOptions, measured: (file: string) => File | null): PlannerProcess {
  const worker = spare ?? startWorker();
  spare = null;
  const giveUp = shareCancelFlag((message) => worker.postMessage(message));
  let answered = false;
  worker.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
    if (isFirstAnswer(data)) return;
    answered = true;
    onReply(data);
  });
  worker.addEventListener('error', (event) => {
    event.preventDefault();
    worker.terminate();
    onEnd({ cause: new Error(event.message), fromOutside: false });
  });
  return {
    send: (message) => {
      if (message.type === 'give-up') giveUp(message.id);
      if (message.type === 'give-up' || message.type === 'ping') return;
      const file = message.type === 'compare' && message.against.kind === 'measured' ? message.against.file : null;
      worker.postMessage(file === null ? message : { ...message, measured: measured(file) });
    },
    hasAnswered: () => answered,
    hold: () => undefined,
    stop: () => {
      worker.terminate();
      return Promise.resolve();
    },
  };
}

/** From a blob that loads the script: a worker whose own script is fetched is not bound by the policy of the page. */
function startWorker(): Worker {
  const script = `import ${JSON.stringify(new URL('planner.js', document.baseURI).href)}`;
  const url = URL.createObjectURL(new Blob([script], { type: 'text/javascript' }));
  const worker = new Worker(url, { name: 'planner', type: 'module' });
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
  return worker;
}

function isFirstAnswer(data: unknown): data is FirstAnswer {
  return typeof data === 'object' && data !== null && 'figures' in data;
}
