import { trainerProgram } from '../trainer-shell/trainer-shell';
import { verlProgram } from '../verl/verl';
import type { ShellProgram } from './program';

/** Programs other than Megatron-LM whose launch scripts are read; a script of two is the first one's. */
export const shellPrograms: readonly ShellProgram[] = [verlProgram, trainerProgram];
