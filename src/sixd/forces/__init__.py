"""Force elements: spring-dampers, joint limits, compliant ground."""
