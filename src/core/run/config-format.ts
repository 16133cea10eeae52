export type ConfigFormat = 'huggingface' | 'terapipe' | 'onnx' | LauncherFormat;

export type LauncherFormat =
  | 'megatron-shell'
  | 'megatron-yaml'
  | 'nemo'
  | 'megatron-bridge'
  | 'bridge-python'
  | 'torchtitan'
  | 'torchtitan-python'
  | 'deepspeed'
  | 'gpt-neox'
  | 'primus'
  | 'primus-torchtitan'
  | 'primus-bridge'
  | 'flagscale'
  | 'nemo-rl'
  | 'nanotron'
  | 'hf-trainer'
  | 'accelerate'
  | 'trainer-shell'
  | 'verl';
