export * from "./host/exports";
