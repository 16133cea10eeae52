import { findMentions } from '../shell/recognise';

const settings = /\b(?:MINIBS|MBS|GBS|MICRO_BATCH_SIZE|TENSOR_MODEL_PARALLEL|PIPELINE_MODEL_PARALLEL|TP|PP)=/g;

/** Variables of the machine by which `run.sub` starts a run, and those of AMD's submissions. */
const machines = [/\bDGX(?:NNODES|NGPU)=/g, /\b(?:NNODES|GPUS_PER_NODE)=/g];

/** Whether a script holds the settings of an MLPerf training run, which its `run.sub` starts: a scan of its text. */
export function isMlperfConfig(text: string): boolean {
  const isNamed = text.includes('DGXSYSTEM=');
  if (!isNamed && !text.includes('DGXNNODES=')) return false;
  const hasMachine = machines.some((variables, index) => (index === 0 || isNamed) && findMentions(text, variables, 2).size === 2);
  return hasMachine && findMentions(text, settings, 1).size === 1;
}
