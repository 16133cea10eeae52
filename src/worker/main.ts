import { parentPort, workerData } from 'node:worker_threads';
import { answerElastic } from '../core/elastic/answer';
import { makePlan } from '../core/planner/make-plan';
import { answerSearch } from '../core/planner/search/answer';
import { readScheduleFile } from '../core/schedule/pytorch/schedule-file';
import { makeCompare } from './compare';
import { servePlanner } from './serve';

if (parentPort === null) throw new Error('the planner runs on a worker thread');
servePlanner(parentPort, workerData, {
  plan: makePlan,
  elastic: (request, { signal }) => answerElastic(request, signal),
  search: answerSearch,
  compare: makeCompare(),
  schedule: readScheduleFile,
});
