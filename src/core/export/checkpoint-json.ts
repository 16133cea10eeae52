import type { JudgedChange } from '../checkpoints/judge';
import { decidingPart, verdictName, type PartVerdict } from '../checkpoints/verdict';
import { say } from '../sentence';

/** Whether the checkpoint that a file loads survives another layout than the file's, in JSON; no key where there is nothing to judge. */
export function checkpointJson(judged: JudgedChange | null): { readonly checkpoint?: object } {
  if (judged === null) return {};
  const { change, verdict } = judged;
  const { format, assumed, weights, optimizer, conversion } = verdict;
  const { reason, source } = decidingPart(verdict);
  const toJson = (part: PartVerdict): object => ({ outcome: part.outcome, reason: say(part.reason), source: part.source });
  return {
    checkpoint: {
      verdict: verdictName(verdict),
      reason: say(reason),
      source,
      command: conversion === null ? null : say(conversion),
      format,
      formatAssumed: assumed === null ? null : say(assumed),
      changed: [...change.changed],
      weights: toJson(weights),
      optimizer: optimizer === null ? null : toJson(optimizer),
    },
  };
}
