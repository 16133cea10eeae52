// Entry of the child processes, and of a thread in those of stages, bundled to dist/profiler.js: ONNX Runtime runs here and nowhere else.
import { isMainThread } from 'node:worker_threads';
import { attentionOperators } from './graph/attention';
import { timedGraph, timedInputsGraph } from './graph/slice-graph';
import { stageArgument } from './rehearsal/arguments';
import { machineClock } from './rehearsal/machine-clock';
import { serveMail } from './rehearsal/mail-thread';
import { createStageServer } from './rehearsal/serve';
import { openSocketMail } from './rehearsal/socket-mail';
import { freeDeviceBytes } from './serve';
import { answerParent, serveParent } from './serve-parent';
import { parseRehearsalRequest } from '../protocol/rehearsal';

const loadRuntime = () => import('onnxruntime-node');

if (!isMainThread) serveMail();
else if (process.argv[2] === stageArgument) serveStages();
else
  serveParent({
    models: { graph: (...pass) => timedGraph(...pass).bytes, inputs: (...pass) => timedInputsGraph(...pass).bytes },
    attentions: attentionOperators,
    loadRuntime,
    freeBytes: freeDeviceBytes,
  });

/** Runs stages of a rehearsal. */
function serveStages(): void {
  const serve = createStageServer({
    loadRuntime,
    clock: machineClock,
    memory: () => ({ rssBytes: process.memoryUsage.rss(), peakRssBytes: 1024 * process.resourceUsage().maxRSS }),
    openMail: (runtime, stage, addresses) => openSocketMail(runtime, process.argv[1] ?? '', stage, addresses),
  });
  answerParent((message, tell) => serve(parseRehearsalRequest(message), tell));
}
