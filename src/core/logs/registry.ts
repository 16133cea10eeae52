import { deepSpeedLog } from './deepspeed';
import { plainText } from './lines';
import type { LogFormat } from './log-format';
import { megatronLog } from './megatron';
import { torchTitanLog } from './torchtitan';
import { trainerLog } from './trainer';

/** Of a log that several tell of, as of Megatron-DeepSpeed, the first is believed; the others fill in what it leaves out. */
export const logFormats: readonly LogFormat[] = [megatronLog, torchTitanLog, deepSpeedLog, trainerLog];

/** Trainers whose logs are read, as a text names them. */
export const logNames = logFormats.map(({ name }) => name);

/** Whether a text is of a log of a training run: one of its lines tells a step. */
export function tellsSteps(text: string): boolean {
  const plain = plainText(text);
  return logFormats.some(({ tells }) => tells.test(plain));
}
