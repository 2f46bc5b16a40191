import { databaseFaults } from "../chaos/faults/database-faults.ts";
import { testQuickFaults } from "../chaos/faults/test-quick-faults.ts";

testQuickFaults("database", databaseFaults);
