// Entry of the child processes, and of a thread in those of stages, bundled to dist/profiler.js: ONNX Runtime runs here and nowhere else.
import { isMainThread } from 'node:worker_threads';
import { attentionOperators } from './graph/attention';
import { launchChain } from './graph/launch-chain';
import { timedGraph, timedInputsGraph } from './graph/slice-graph';
import { stageArgument, parseRehearsalRequest } from '../features/rehearsal/protocol';
import { machineClock } from '../features/rehearsal/profiler/machine-clock';
import { serveMail } from '../features/rehearsal/profiler/mail-thread';
import { createStageServer } from '../features/rehearsal/profiler/serve';
import { openSocketMail } from '../features/rehearsal/profiler/socket-mail';
import { freeDeviceBytes } from './serve';
import { answerParent, serveParent } from './serve-parent';

const loadRuntime = () => import('onnxruntime-node');

if (!isMainThread) serveMail();
else if (process.argv[2] === stageArgument) serveStages();
else
  serveParent({
    models: { graph: (...pass) => timedGraph(...pass).bytes, inputs: (...pass) => timedInputsGraph(...pass).bytes },
    chain: launchChain,
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
  answerParent((message, notify) => serve(parseRehearsalRequest(message), notify));
}
