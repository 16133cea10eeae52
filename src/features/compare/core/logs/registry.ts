import { deepSpeedLog } from './deepspeed';
import { plainText } from './lines';
import type { LogFormat } from './run-log';
import { megatronLog } from './megatron';
import { torchTitanLog } from './torchtitan';
import { trainerLog } from './trainer';

/** If several read a log, as of Megatron-DeepSpeed, the first counts; the others fill in what it leaves out. */
export const logFormats: readonly LogFormat[] = [megatronLog, torchTitanLog, deepSpeedLog, trainerLog];

/** Trainers whose logs are read, as a text names them. */
export const logNames = logFormats.map(({ name }) => name);

/** Whether a text is from the log of a training run: one of its lines has a step. */
export function hasStepLines(text: string): boolean {
  const plain = plainText(text);
  return logFormats.some(({ stepLine }) => stepLine.test(plain));
}
