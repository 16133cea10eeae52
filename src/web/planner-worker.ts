import script from 'terapipe:worker';
import type { PlannerProcess, ProcessOptions } from '../host/planner/process';

/** Starts a planner in a web worker. From a blob, since one that is fetched is not bound by the policy of the page. */
export function startPlannerWorker({ onReply, onEnd }: ProcessOptions): PlannerProcess {
  const url = URL.createObjectURL(new Blob([script], { type: 'text/javascript' }));
  const worker = new Worker(url, { name: 'planner' });
  let answered = false;
  worker.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
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
      if (message.type !== 'give-up' && message.type !== 'ping') worker.postMessage(message);
    },
    hasAnswered: () => answered,
    hold: () => undefined,
    stop: () => {
      worker.terminate();
      URL.revokeObjectURL(url);
      return Promise.resolve();
    },
  };
}
