import { ExpectedError } from '../core/errors';
import { sentence } from '../core/sentence';
import { comparePlans } from '../features/compare/core/plans';
import { evidenceOfText } from '../features/oom/core/read-log';
import { makePlanners } from '../worker/planners';
import { servePlanner } from '../worker/serve';

/** The planner in a web worker. A request that is given up ends it, since a worker that plans reads no messages. */
servePlanner(
  {
    onMessage: (listener) => self.addEventListener('message', (event: MessageEvent<unknown>) => listener(event.data)),
    post: (message, moved = []) => self.postMessage(message, { transfer: [...moved] }),
  },
  () => false,
  makePlanners({
    compare: ({ plan, against }) => {
      if (against.kind === 'plan') return comparePlans(plan, against.plan, { a: 'A', b: 'B' });
      throw notLocal();
    },
    readEvidence: (source) => (source.kind === 'text' ? Promise.resolve(evidenceOfText(source.text)) : Promise.reject(notLocal())),
  }),
);

function notLocal(): ExpectedError {
  return new ExpectedError('measured-not-local', sentence`A page in a browser reads no measured runs`, sentence`compare it in VS Code`);
}
