import { parentPort, workerData } from 'node:worker_threads';
import { makePlan } from '../core/planner/make-plan';
import { servePlanner } from './serve';

if (parentPort === null) throw new Error('the planner runs on a worker thread');
servePlanner(parentPort, workerData, makePlan);
