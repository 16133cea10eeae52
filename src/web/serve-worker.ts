import { ExpectedError } from '../core/errors';
import { sentence } from '../core/sentence';
import { comparePlans } from '../features/compare/core/plans';
import { evidenceOfText } from '../features/oom/core/read-log';
import { makePlanners } from '../worker/planners';
import { servePlanner } from '../worker/serve';

/** The planner in a web worker; returns what takes its messages. A request that is given up ends it: while it plans it reads none. */
export function serveWorker(): (message: unknown) => void {
  const listeners: ((message: unknown) => void)[] = [];
  const planners = makePlanners({
    compare: ({ plan, against }) => {
      if (against.kind === 'plan') return comparePlans(plan, against.plan, { a: 'A', b: 'B' });
      throw notLocal();
    },
    readEvidence: (source) => (source.kind === 'text' ? Promise.resolve(evidenceOfText(source.text)) : Promise.reject(notLocal())),
  });
  const port = {
    onMessage: (listener: (message: unknown) => void) => void listeners.push(listener),
    post: (message: unknown, moved: readonly ArrayBuffer[] = []) => self.postMessage(message, { transfer: [...moved] }),
  };
  servePlanner(port, () => false, planners);
  return (message) => listeners.forEach((listener) => listener(message));
}

function notLocal(): ExpectedError {
  return new ExpectedError('measured-not-local', sentence`A page in a browser reads no measured runs`, sentence`compare it in VS Code`);
}
