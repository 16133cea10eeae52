// Entry of the child process, bundled to dist/profiler.js: ONNX Runtime runs here and nowhere else.
import { attentionOperators } from './graph/attention';
import { timedGraph, timedInputsGraph } from './graph/slice-graph';
import { freeDeviceBytes } from './serve';
import { serveParent } from './serve-parent';

serveParent({
  models: { graph: (...pass) => timedGraph(...pass).bytes, inputs: (...pass) => timedInputsGraph(...pass).bytes },
  attentions: attentionOperators,
  loadRuntime: () => import('onnxruntime-node'),
  freeBytes: freeDeviceBytes,
});
