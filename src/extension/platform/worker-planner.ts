import { shareCancelFlag } from '../../host/planner/cancel-flag';
import type { PlannerProcess, ProcessOptions } from '../../host/planner/process';

/** The part of a browser's workers that is used; this code is checked without the DOM. */
interface BrowserWorker {
  postMessage: (message: unknown) => void;
  terminate: () => void;
  onmessage: ((event: { readonly data: unknown }) => void) | null;
  onerror: ((event: { readonly message: string; readonly preventDefault: () => void }) => void) | null;
}

declare const Worker: new (url: string, options: { readonly name: string }) => BrowserWorker;

/** Starts a planner's script in a web worker of a browser. */
export function startWorkerPlanner(script: string, { onReply, onEnd }: ProcessOptions): PlannerProcess {
  const url = URL.createObjectURL(new Blob([script], { type: 'text/javascript' }));
  const worker = new Worker(url, { name: 'planner' });
  const giveUp = shareCancelFlag((message) => worker.postMessage(message));
  let answered = false;
  worker.onmessage = ({ data }) => {
    answered = true;
    onReply(data);
  };
  worker.onerror = (event) => {
    event.preventDefault();
    worker.terminate();
    onEnd({ cause: new Error(event.message), fromOutside: false });
  };
  return {
    send: (message) => {
      if (message.type === 'give-up') giveUp(message.id);
      else if (message.type !== 'ping') worker.postMessage(message);
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
