"""opencode: exports, both JSON trees and the database."""
