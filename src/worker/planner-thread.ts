import { parentPort, workerData } from 'node:worker_threads';
import { makeCompare } from '../features/compare/worker/compare';
import { evidenceOfText } from '../features/oom/core/read-log';
import { readEvidence } from '../features/oom/worker/read-evidence';
import { makePlanners } from './planners';
import { serveThread } from './thread';

if (parentPort === null) throw new Error('plans are made on a thread of their own');

const compare = makeCompare();

serveThread(
  parentPort,
  workerData,
  makePlanners({
    compare: ({ plan, against }, options) => compare(plan, against, options),
    readEvidence: (source, signal) =>
      source.kind === 'text' ? Promise.resolve(evidenceOfText(source.text)) : readEvidence(source.path, signal),
  }),
);
