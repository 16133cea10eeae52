import { parentPort, workerData } from 'node:worker_threads';
import { makeCompare } from '../features/compare/worker/compare';
import { makePlanners } from './planners';
import { relayPlanner } from './relay';
import { serveThread } from './thread';

const compare = makeCompare();

if (parentPort === null) relayPlanner(__filename);
else
  serveThread(
    parentPort,
    workerData,
    makePlanners(({ plan, against }, options) => compare(plan, against, options)),
  );
