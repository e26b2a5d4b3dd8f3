/** Processor time per operation in microseconds. */
export type Cost = { gateway: number; postgres: number };

/** The results of a round. Memory is the peak in MiB. */
export type BacklogRound = {
  publishing: Cost;
  publishingWithBacklog: Cost;
  sending: Cost;
  sentPerSecond: number;
  memory: number;
};
